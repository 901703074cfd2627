// An Explanation as a text table.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "engine/io/text_table.h"
#include "eval/explain/explanation_output.h"

namespace sink {
namespace {

using Key = AttentionTrace::Key;

constexpr std::size_t kLongRow = 40;  // longer rows and texts are abridged

// Four significant digits in nine columns.
std::string number(double x) {
  double size = std::abs(x);
  if (size == 0 || (size >= 0.01 && size < 1e4)) return str_format("%9.4f", x == 0 ? 0.0 : x);
  return str_format("%9.2e", x);
}

std::string short_number(double x) {
  std::string text = number(x);
  return text.substr(text.find_first_not_of(' '));
}

std::string whole(std::int64_t x) { return std::to_string(x); }

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (double x_d : x) sum += x_d * x_d;
  return std::sqrt(sum);
}

std::string bar(double x, double largest) {
  if (!(largest > 0)) return "";
  return std::string(static_cast<std::size_t>(std::lround(16 * std::abs(x) / largest)), x < 0 ? '-' : '#');
}

// " = e^x"; nothing for a formula that the header of operations does not give.
std::string equals(const std::string& formula) { return formula.empty() ? "" : " = " + formula; }
// " = S = 3.3710"; " = 1" for a formula that is the value.
std::string equals(const std::string& formula, double x) {
  return equals(formula) + (formula == "0" || formula == "1" ? "" : " = " + short_number(x));
}

// The keys with a line: all, or of a long row the first, the last and those with the largest weights.
std::vector<bool> shown_keys(const std::vector<Key>& keys, bool all) {
  const std::size_t N = keys.size(), ends = kLongRow / 4;
  std::vector<bool> shown(N, all || N <= kLongRow);
  if (shown[0]) return shown;
  std::vector<std::size_t> by_weight(N);
  std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [&](std::size_t m, std::size_t n) { return std::abs(keys[m].a) > std::abs(keys[n].a); });
  for (std::size_t n = 0; n < ends; ++n) shown[n] = shown[N - 1 - n] = shown[by_weight[n]] = true;
  for (std::size_t n = 1; n + 1 < N; ++n)  // the note that one key is left out takes the same line
    if (shown[n - 1] && shown[n + 1]) shown[n] = true;
  return shown;
}

// A column of nine characters in a table of keys: its title and the text for a key.
using Column = std::pair<std::string, std::function<std::string(const Key&)>>;
constexpr auto value = [](double Key::*member) { return [member](const Key& key) { return number(key.*member); }; };

class TableWriter {
 public:
  TableWriter(const Explanation& explanation, const ExplanationStyle& style)
      : e_(explanation),
        style_(style),
        t_(explanation.query_row()),
        formula_(t_.formula),
        shown_(shown_keys(t_.keys, style.all_numbers)) {}

  std::string text() {
    add_heading();
    add_scores();
    add_weights();
    add_output();
    if (e_.loss) add_backward();
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

  // A line for each shown key, "  3 l      ", its columns and `last`, and one for the keys left out between two lines.
  void add_keys(const std::vector<Column>& columns, const std::string& last_title,
                const std::function<std::string(const Key&)>& last) {
    auto joined = [&](auto&& cell) {
      std::string line;
      for (const Column& column : columns) {
        if (!line.empty()) line += " ";
        line += str_format("%9s", cell(column));
      }
      return line;
    };
    add("    j token   ", joined([](const Column& column) { return column.first; }), last_title);
    std::size_t left_out = 0;
    for (std::size_t n = 0; n < t_.keys.size(); ++n) {
      const Key& key = t_.keys[n];
      if (!shown_[n]) {
        ++left_out;
        continue;
      }
      if (left_out > 0) add("    ... ", std::to_string(left_out), " keys left out (--full shows all)");
      left_out = 0;
      const bool extra = key.j == AttentionTrace::kExtraKey;
      add(str_format("%5s ", extra ? "*" : whole(key.j)), padded(extra ? "extra" : label(key.j), 8),
          joined([&](const Column& column) { return column.second(key); }), last(key));
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
      const std::string token = whole(i) + ":" + label(i);
      text += (i > first ? "  " : "") + (i == e_.query ? "[" + token + "]" : token);
    }
    return text + (end < count ? "  ... " + whole(count - end) + " tokens" : "");
  }

  void add_heading() {
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

  void add_scores() {
    add("\n1. Scores   s_ij = scale q_i . k_j", t_.has_bias ? " + bias" : "",
        "   q_i . k_j = |q_i| |k_j| cos   scale = ", short_number(t_.scale));
    auto if_vector = [](double Key::*member) {
      return [member](const Key& key) { return key.k.empty() ? "-" : number(key.*member); };
    };
    std::vector<Column> columns{
        {"|k_j|", if_vector(&Key::k_norm)}, {"cos", if_vector(&Key::cosine)}, {"q_i . k_j", if_vector(&Key::q_dot_k)}};
    if (t_.has_bias) columns.push_back({"bias", if_vector(&Key::bias)});
    columns.push_back({"s_ij", value(&Key::s)});
    add_keys(columns, "   k_j",
             [&](const Key& key) { return "   " + (key.k.empty() ? "a bare score" : vector(key.k)); });
    add("\n2. Shift    m_i", equals(formula_.m, t_.m), "   x_ij = s_ij - m_i");
    add("3. Sum      S_i = sum_j r(x_ij) = ", short_number(t_.S), formula_.r.empty() ? "" : "   r = " + formula_.r,
        ";   z(S_i)", equals(formula_.z, t_.z), formula_.z == "n" ? "   n = keys it sees" : "");
  }

  void add_weights() {
    const Key& most = t_.keys[t_.strongest()];
    const bool has_post = !formula_.post.empty(), is_extra = most.j == AttentionTrace::kExtraKey;
    add("4. Weights  a_ij = post(g(x_ij) / z(S_i))   g(x)", equals(formula_.g),
        formula_.g.find(" u") == std::string::npos ? "" : "   u = e^-m = " + short_number(std::exp(-t_.m)),
        has_post ? "   post = " + formula_.post : "   post: nothing");
    add("    key ", is_extra ? "*" : whole(most.j), " in the general form:  g(", short_number(most.x), ") / z(",
        short_number(t_.S), ") = ", short_number(most.g), " / ", short_number(t_.z), " = ", short_number(most.w),
        has_post ? ", post " + short_number(most.a) : "");
    if (std::string(t_.operation) == "Softmax")
      add("    and in the familiar one:    e^(s - m) / sum e^(s - m) = e^", short_number(most.x), " / ",
          short_number(t_.S), " = ", short_number(std::exp(most.x) / t_.S));
    std::vector<Column> columns{{"x_ij", value(&Key::x)}, {"g(x_ij)", value(&Key::g)}};
    if (formula_.r != "g") columns.push_back({"r(x_ij)", value(&Key::r)});
    if (has_post) columns.push_back({"w_ij", value(&Key::w)});
    columns.push_back({"a_ij", value(&Key::a)});
    add_keys(columns, "", [&](const Key& key) { return "   " + bar(key.a, std::abs(most.a)); });
    add("    row sum ", short_number(t_.row_sum), without_extra_key(), "; most goes to key ",
        is_extra ? "*, the extra key" : whole(most.j) + " `" + label(most.j) + "`", ": ", short_number(most.a));
  }

  // The row sum that evaluations report, if there is an extra key.
  std::string without_extra_key() const {
    if (t_.keys.back().j != AttentionTrace::kExtraKey) return "";
    double sum = 0;
    for (const Key& key : t_.keys) sum += key.j == AttentionTrace::kExtraKey ? 0 : key.a;
    return ", without the extra key (row sum) " + short_number(sum);
  }

  void add_output() {
    add("\n5. Output   o_i = sum_j a_ij v_j = ", vector(t_.o), "   |o_i| = ", short_number(t_.o_norm));
    add_keys({{"|v_j|", value(&Key::v_norm)},
              {"|a_ij v_j|", [](const Key& key) { return " " + number(key.mixed_norm); }},
              {"  share of o_i", [](const Key& key) { return str_format("%12.1f %%", 100 * key.share); }}},
             "   v_j", [&](const Key& key) { return "   " + vector(key.v); });
    add("    share: a_ij v_j . o_i / |o_i|^2; below 0 it points against the others");
  }

  void add_backward() {
    add("\nBackward   loss = mean cross-entropy of ", whole(e_.targets), " next tokens = ", short_number(*e_.loss),
        " nats; dy means d loss / dy");
    if (!t_.backward) {
      add("    no gradient reaches this layer's attention");
      return;
    }
    add_arrival();
    add("\n5'. Output  do_i = ", vector(t_.do_i), "   |do_i| = ", short_number(norm(t_.do_i)));
    add("            da_ij = do_i . v_j      dv_j += a_ij do_i");
    add("4'. Weights dw_ij = post'(w_ij) da_ij");
    const bool threshold = formula_.m == "threshold";
    add("3'. Sum     D_i = sum_j ", threshold ? "g'(x_ij)" : "w_ij", " dw_ij = ", short_number(t_.D), "   ",
        threshold ? "1 / S_i = " : "z'(S_i) = ", short_number(t_.dz));
    add("            ds_ij = g'(x_ij) dw_ij / z  through g,  ",
        threshold ? "- g'(x_ij) D_i / S_i  through m" : "- r'(x_ij) z' D_i / z  through S");
    add_keys({{"da_ij", value(&Key::da)},
              {"dw_ij", value(&Key::dw)},
              {"g'", value(&Key::dg)},
              {threshold ? "g'" : "r'", value(&Key::dr)},
              {"through g", value(&Key::ds_by_g)},
              {threshold ? "through m" : "through S", value(&Key::ds_by_S)},
              {"ds_ij", value(&Key::ds)}},
             "", [](const Key&) { return ""; });
    add("\n1'. Scores  dq_i = scale sum_j ds_ij k_j = ", vector(t_.dq), "   |dq_i| = ", short_number(norm(t_.dq)));
    add("            this row's part of dk_j = scale ds_ij q_i, of dv_j = a_ij do_i",
        t_.has_bias ? ", of dbias[i - j] = ds_ij" : "");
    std::vector<Column> columns{{"|dk_j|", [](const Key& key) { return number(norm(key.dk)); }},
                                {"|dv_j|", [](const Key& key) { return number(norm(key.dv)); }}};
    if (t_.has_bias)
      columns.push_back(
          {"dbias", [](const Key& key) { return key.j == AttentionTrace::kExtraKey ? "-" : number(key.ds); }});
    add_keys(columns, "   dk_j", [&](const Key& key) {
      return "   " + (key.k.empty() ? "of the bare score: " + short_number(key.ds) : vector(key.dk));
    });
    if (!threshold) add("    nothing flows through m_i: it changes no weight, or is no function of the scores");
  }

  // The operations between the loss and do_i, in the order of the backward pass: the last ones.
  void add_arrival() {
    constexpr std::size_t kShown = 14;
    std::size_t first = e_.arrival.size() > kShown ? e_.arrival.size() - kShown : 0;
    add("0'. Arrival  from the loss to do_i: operations in the order backward meets them, and the norm of the");
    add("            gradient of what each gave at the query; those that add give the residual stream");
    if (first > 0) add("    ... ", whole(static_cast<std::int64_t>(first)), " operations before these");
    for (std::size_t n = first; n < e_.arrival.size(); ++n) {
      const GradientStep& step = e_.arrival[n];
      add("    ", padded(step.operation, 26), padded(step.shape, 18), number(step.norm),
          n + 1 == e_.arrival.size() ? "   = |do_i|" : "");
    }
  }

  const Explanation& e_;
  const ExplanationStyle& style_;
  const AttentionTrace& t_;
  const OperationFormula formula_;
  const std::vector<bool> shown_;  // by key of the row
  std::string text_;
};

}  // namespace

std::string label_at(const Explanation& explanation, const ExplanationStyle& style, std::int64_t i) {
  if (i == AttentionTrace::kExtraKey) return "*";
  std::int32_t id = explanation.tokens[static_cast<std::size_t>(i)];
  return id < 0 ? "<sink>" : printable(style.token_text(id));
}

std::string explanation_table(const Explanation& explanation, const ExplanationStyle& style) {
  return TableWriter(explanation, style).text();
}

}  // namespace sink
