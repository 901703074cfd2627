#include "eval/explain/explanation_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "engine/io/printable.h"
#include "eval/explain/operation_formula.h"

namespace sink {
namespace {

using Key = AttentionTrace::Key;

template <class... Arguments>
std::string line(const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

constexpr std::size_t kLongRow = 40;  // keys that are shown one by one, and tokens

// Four digits that mean something, in nine columns.
std::string number(double x) {
  double size = std::abs(x);
  if (size == 0 || (size >= 0.01 && size < 1e4)) return line("%9.4f", x == 0 ? 0.0 : x);
  return line("%9.2e", x);
}

std::string short_number(double x) {
  std::string text = number(x);
  return text.substr(text.find_first_not_of(' '));
}

std::string whole(std::int64_t x) { return std::to_string(x); }

// Text in `columns` columns of a terminal, as far as characters of UTF-8 are columns.
std::string padded(std::string text, std::size_t columns) {
  auto width = [&] { return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }); };
  while (static_cast<std::size_t>(width()) > columns) {
    while (!text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();
    text.pop_back();
  }
  return text + std::string(columns - static_cast<std::size_t>(width()), ' ');
}

// One explanation on its way to text.
class Table {
 public:
  Table(const Explanation& explanation, const ExplanationStyle& style)
      : e_(explanation), style_(style), t_(explanation.asked()), formula_(formula_of(t_.operation)) {
    choose_keys();
  }

  std::string text() {
    head();
    scores();
    shift_and_sum();
    weights();
    output();
    if (e_.loss) backward();
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void add(const Parts&... parts) {
    ((text_ += parts), ...);
    text_ += '\n';
  }
  std::string vector(const std::vector<double>& x) const {
    if (x.empty()) return "none";
    std::size_t shown = style_.all_numbers ? x.size() : std::min<std::size_t>(4, x.size());
    std::string text = "(";
    for (std::size_t d = 0; d < shown; ++d) text += (d ? ", " : "") + short_number(x[d]);
    return text + (shown < x.size() ? ", ...)" : ")");
  }
  std::string label(std::int64_t i) const { return label_at(e_, style_, i); }
  // "  3 l      ": the position and the token of a key.
  std::string name_of(const Key& key) const {
    std::string position = key.j == AttentionTrace::kExtraKey ? "*" : whole(key.j);
    return line("%5s ", position.c_str()) + padded(key.j == AttentionTrace::kExtraKey ? "extra" : label(key.j), 8);
  }
  static std::string bar(double x, double largest) {
    return largest > 0
               ? std::string(static_cast<std::size_t>(std::lround(16 * std::abs(x) / largest)), x < 0 ? '-' : '#')
               : "";
  }
  // " = e^x" where the header of operations has the function's formula.
  static std::string is(const std::string& formula) { return formula.empty() ? "" : " = " + formula; }
  // " = S = 3.3710", or " = 1" where the formula is the number.
  static std::string is(const std::string& formula, double x) {
    bool says_it = formula == "0" || formula == "1";
    return is(formula) + (says_it ? "" : " = " + short_number(x));
  }

  // Which keys have a line: all, or of a long row the first, the last and those with the largest weights.
  void choose_keys() {
    const std::size_t N = t_.keys.size(), ends = kLongRow / 4;
    shown_.assign(N, style_.all_numbers || N <= kLongRow);
    if (shown_[0]) return;
    std::vector<std::size_t> by_weight(N);
    std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
    std::stable_sort(by_weight.begin(), by_weight.end(),
                     [&](std::size_t m, std::size_t n) { return std::abs(t_.keys[m].a) > std::abs(t_.keys[n].a); });
    for (std::size_t n = 0; n < ends; ++n) shown_[n] = shown_[N - 1 - n] = shown_[by_weight[n]] = true;
    for (std::size_t n = 1; n + 1 < N; ++n)  // a line that says one is left out could as well be the key's
      if (shown_[n - 1] && shown_[n + 1]) shown_[n] = true;
  }
  // One line for each key that is shown, and one for those left out between two of them.
  template <class Line>
  void add_keys(const Line& add_line) {
    std::size_t left_out = 0;
    for (std::size_t n = 0; n < t_.keys.size(); ++n) {
      if (!shown_[n]) {
        ++left_out;
        continue;
      }
      if (left_out > 0) add("    ... ", std::to_string(left_out), " keys left out (--full shows all)");
      left_out = 0;
      add_line(t_.keys[n]);
    }
  }

  // "0:h  1:e  [2:l]": of a long text those around the query.
  std::string tokens() const {
    const auto count = static_cast<std::int64_t>(e_.tokens.size());
    const bool all = style_.all_numbers || e_.tokens.size() <= kLongRow;
    const std::int64_t around = kLongRow / 4, first = all ? 0 : std::max<std::int64_t>(0, e_.query - around),
                       end = all ? count : std::min(count, e_.query + around + 1);
    std::string text = first > 0 ? "... " + whole(first) + " tokens  " : "";
    for (std::int64_t i = first; i < end; ++i) {
      bool query = i == e_.query;
      text += (i > first ? "  " : "") + std::string(query ? "[" : "") + whole(i) + ":" + label(i) + (query ? "]" : "");
    }
    return text + (end < count ? "  ... " + whole(count - end) + " tokens" : "");
  }

  void head() {
    add("explains ", style_.what);
    add("tokens   ", tokens());
    add("layer ", whole(e_.layer), ", head ", whole(t_.head),
        t_.key_head == t_.head ? "" : " (keys and values of head " + whole(t_.key_head) + ")",
        ", query i = ", whole(e_.query), " `", label(e_.query), "`, in double; head width ",
        whole(static_cast<std::int64_t>(t_.q.size())));
    add("operation ", t_.operation, formula_.whole.empty() ? "" : ": " + formula_.whole,
        formula_.proposed_by.empty() ? "" : " (" + formula_.proposed_by + ")");
    add("\nq_i = ", vector(t_.q), "   |q_i| = ", short_number(t_.q_norm));
  }

  void scores() {
    add("\n1. Scores   s_ij = scale q_i . k_j", t_.has_bias ? " + bias" : "",
        "   q_i . k_j = |q_i| |k_j| cos   scale = ", short_number(t_.scale));
    add("    j token       |k_j|       cos q_i . k_j", t_.has_bias ? "      bias" : "", "      s_ij   k_j");
    add_keys([&](const Key& key) {
      if (key.k.empty()) {
        add(name_of(key), "        (a bare score)     ", t_.has_bias ? "          " : "", number(key.s));
        return;
      }
      add(name_of(key), number(key.k_norm), " ", number(key.cosine), " ", number(key.q_dot_k),
          t_.has_bias ? " " + number(key.bias) : "", " ", number(key.s), "   ", vector(key.k));
    });
  }

  void shift_and_sum() {
    add("\n2. Shift    m_i", is(formula_.m, t_.m), "   x_ij = s_ij - m_i");
    add("3. Sum      S_i = sum_j r(x_ij) = ", short_number(t_.S), formula_.r.empty() ? "" : "   r = " + formula_.r,
        ";   z(S_i)", is(formula_.z, t_.z), formula_.z == "n" ? "   n = keys it sees" : "");
  }

  void weights() {
    const Key& most = t_.keys[t_.strongest()];
    add("4. Weights  a_ij = post(g(x_ij) / z(S_i))   g(x)", is(formula_.g),
        formula_.g.find(" u") == std::string::npos ? "" : "   u = e^-m = " + short_number(std::exp(-t_.m)),
        formula_.post.empty() ? "   post: nothing" : "   post = " + formula_.post);
    add("    key ", most.j == AttentionTrace::kExtraKey ? "*" : whole(most.j), " in the general form:  g(",
        short_number(most.x), ") / z(", short_number(t_.S), ") = ", short_number(most.g), " / ", short_number(t_.z),
        " = ", short_number(most.w), formula_.post.empty() ? "" : ", post " + short_number(most.a));
    if (std::string(t_.operation) == "Softmax")
      add("    and in the familiar one:    e^(s - m) / sum e^(s - m) = e^", short_number(most.x), " / ",
          short_number(t_.S), " = ", short_number(std::exp(most.x) / t_.S));
    bool sums_apart = formula_.r != "g", has_post = !formula_.post.empty();
    add("    j token        x_ij   g(x_ij)", sums_apart ? "   r(x_ij)" : "", has_post ? "      w_ij" : "",
        "      a_ij");
    add_keys([&](const Key& key) {
      add(name_of(key), number(key.x), " ", number(key.g), sums_apart ? " " + number(key.r) : "",
          has_post ? " " + number(key.w) : "", " ", number(key.a), "   ", bar(key.a, std::abs(most.a)));
    });
    add("    row sum ", short_number(t_.row_sum), without_extra_key(), "; most goes to key ",
        most.j == AttentionTrace::kExtraKey ? "*, the extra key" : whole(most.j) + " `" + label(most.j) + "`", ": ",
        short_number(most.a));
  }

  // The row mass that evaluations measure, where it is another number than the row sum.
  std::string without_extra_key() const {
    double mass = 0;
    for (const Key& key : t_.keys) mass += key.j == AttentionTrace::kExtraKey ? 0 : key.a;
    bool extra = t_.keys.back().j == AttentionTrace::kExtraKey;
    return extra ? ", without the extra key (row mass) " + short_number(mass) : "";
  }

  void output() {
    add("\n5. Output   o_i = sum_j a_ij v_j = ", vector(t_.o), "   |o_i| = ", short_number(t_.o_norm));
    add("    j token       |v_j| |a_ij v_j|   share of o_i   v_j");
    add_keys([&](const Key& key) {
      add(name_of(key), number(key.v_norm), "  ", number(key.mixed_norm), line("%13.1f %%", 100 * key.share), "   ",
          vector(key.v));
    });
    add("    share: a_ij v_j . o_i / |o_i|^2; below 0 it points against the others");
  }

  void backward() {
    add("\nBackward   loss = mean cross-entropy of ", whole(e_.targets), " next tokens = ", short_number(*e_.loss),
        " nats; dy means d loss / dy");
    if (!t_.backward) {
      add("    no gradient reaches this layer's attention");
      return;
    }
    arrival();
    add("\n5'. Output  do_i = ", vector(t_.do_i), "   |do_i| = ", short_number(norm(t_.do_i)));
    add("            da_ij = do_i . v_j      dv_j += a_ij do_i");
    add("4'. Weights dw_ij = post'(w_ij) da_ij");
    add("3'. Sum     D_i = sum_j w_ij dw_ij = ", short_number(t_.D), "   z'(S_i) = ", short_number(t_.dz));
    add("            ds_ij = g'(x_ij) dw_ij / z  through g,  - r'(x_ij) z' D_i / z  through S");
    add("    j token       da_ij     dw_ij        g'        r' through g through S     ds_ij");
    add_keys([&](const Key& key) {
      add(name_of(key), number(key.da), " ", number(key.dw), " ", number(key.dg), " ", number(key.dr), " ",
          number(key.ds_by_g), " ", number(key.ds_by_S), " ", number(key.ds));
    });
    add("\n1'. Scores  dq_i = scale sum_j ds_ij k_j = ", vector(t_.dq), "   |dq_i| = ", short_number(norm(t_.dq)));
    add("            this row's part of dk_j = scale ds_ij q_i, of dv_j = a_ij do_i",
        t_.has_bias ? ", of dbias[i - j] = ds_ij" : "");
    add("    j token      |dk_j|    |dv_j|", t_.has_bias ? "     dbias" : "", "   dk_j");
    add_keys([&](const Key& key) {
      add(name_of(key), number(norm(key.dk)), " ", number(norm(key.dv)),
          t_.has_bias ? " " + (key.j == AttentionTrace::kExtraKey ? "        -" : number(key.ds)) : "", "   ",
          key.k.empty() ? "of the bare score: " + short_number(key.ds) : vector(key.dk));
    });
    add("    nothing flows through m_i: it changes no weight, or is no function of the scores");
  }

  // How do_i came here: the operations that backward met before, the last ones in full.
  void arrival() {
    constexpr std::size_t kShown = 14;
    std::size_t first = e_.arrival.size() > kShown ? e_.arrival.size() - kShown : 0;
    add("0'. Arrival  from the loss to do_i: operations in the order backward meets them, and the norm of the");
    add("            gradient of what each gave at the query; those that add give the residual stream");
    if (first > 0) add("    ... ", whole(static_cast<std::int64_t>(first)), " operations before these");
    for (std::size_t n = first; n < e_.arrival.size(); ++n) {
      const GradientStep& step = e_.arrival[n];
      bool here = n + 1 == e_.arrival.size();
      add("    ", padded(step.operation, 26), padded(step.shape, 18), number(step.norm), here ? "   = |do_i|" : "");
    }
  }
  static double norm(const std::vector<double>& x) {
    double sum = 0;
    for (double x_d : x) sum += x_d * x_d;
    return std::sqrt(sum);
  }

  const Explanation& e_;
  const ExplanationStyle& style_;
  const AttentionTrace& t_;
  const OperationFormula formula_;
  std::vector<bool> shown_;  // by key of the row
  std::string text_;
};

}  // namespace

std::string label_at(const Explanation& explanation, const ExplanationStyle& style, std::int64_t i) {
  if (i == AttentionTrace::kExtraKey) return "*";
  std::int32_t id = explanation.tokens[static_cast<std::size_t>(i)];
  return id < 0 ? "<sink>" : printable(style.token_text(id));
}

std::string explanation_table(const Explanation& explanation, const ExplanationStyle& style) {
  return Table(explanation, style).text();
}

}  // namespace sink
