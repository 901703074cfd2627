#include "eval/attention/attention_summary.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>

#include "engine/tensor_view.h"
#include "engine/threads.h"
#include "eval/input_tokens.h"
#include "eval/sink/even_attention.h"
#include "eval/sink/measured_point.h"
#include "eval/vector_statistics.h"

namespace sink {
namespace {

// `columns` of the pattern come before the tokens: the extra key or the sink token. `rows` likewise.
struct Before {
  std::int64_t columns, rows;
};

// Proxy weights, |a_ij| / sum_j |a_ij|; a row without any weight stays zero.
struct ProxyPattern {
  Tensor weights_TT;                 // between tokens of the text
  std::vector<double> from_extra_T;  // what the rows of sink tokens give the tokens: those of a prefix
  double star_by_itself = 0;         // the weight of `*` in its own row: 1 for an extra key
  double star_by_text = 0;           // what the rows of the text give `*`
  double row_sums = 0;               // of the rows of the text, raw, without the extra key
};

ProxyPattern proxy_pattern(const Tensor& pattern, Before before, std::int64_t T) {
  ProxyPattern proxy;
  proxy.weights_TT = Tensor::zeros({T, T}, DType::F64);
  proxy.from_extra_T.assign(static_cast<std::size_t>(T), 0);
  const bool has_extra_key = before.columns > before.rows;
  if (has_extra_key) proxy.star_by_itself = 1;
  const auto a = view<double, 2>(pattern);
  auto p = view<double, 2>(proxy.weights_TT);
  for (std::int64_t i = -before.rows; i < T; ++i) {
    const auto row = static_cast<std::size_t>(i + before.rows);
    double sum = 0;
    for (std::size_t j = 0; j < a.shape(1); ++j) {
      sum += std::abs(a(row, j));
      if (i >= 0) proxy.row_sums += a(row, j);
    }
    if (i >= 0 && has_extra_key) proxy.row_sums -= a(row, 0);
    if (sum == 0) continue;
    if (before.columns > 0) (i < 0 ? proxy.star_by_itself : proxy.star_by_text) += std::abs(a(row, 0)) / sum;
    for (std::size_t j = 0; j < static_cast<std::size_t>(T); ++j) {
      const double weight = std::abs(a(row, j + static_cast<std::size_t>(before.columns))) / sum;
      if (i < 0)
        proxy.from_extra_T[j] += weight;
      else
        p(static_cast<std::size_t>(i), j) = weight;
    }
  }
  return proxy;
}

// rows_X: how many rows see each position, sink tokens first.
HeadSummary summary_of_head(const ProxyPattern& proxy, Before before, const std::vector<double>& rows_X) {
  const auto p = view<double, 2>(proxy.weights_TT);
  const std::size_t T = p.shape(0);
  const auto rows = static_cast<double>(T);
  HeadSummary head;
  head.share_T.assign(T, 0);
  for (std::size_t i = 0; i < T; ++i) {
    for (std::size_t j = 0; j < T; ++j) head.share_T[j] += p(i, j) / rows;
    head.self += p(i, i) / rows;
    if (i > 0) head.previous += p(i, i - 1) / (rows - 1);
  }
  head.alpha_T = head.share_T;
  for (std::size_t k = 0; k < T; ++k) {
    const double seen = rows_X[static_cast<std::size_t>(before.rows) + k];
    head.alpha_T[k] = head.alpha_T[k] * (rows / seen) + proxy.from_extra_T[k] / seen;
  }
  if (before.columns > 0)
    head.alpha_star = (proxy.star_by_itself + proxy.star_by_text) / (before.rows > 0 ? rows_X[0] : rows + 1);
  head.row_sum = proxy.row_sums / rows;
  return head;
}

// The heads of one layer, from what their keys receive; without sink tokens. rows_T: how many rows see each token.
std::vector<HeadSummary> summaries_of_sums(const AttentionPoint& point, const std::vector<double>& rows_T,
                                           std::vector<double>& by_distance_T) {
  const AttentionKeySums sums = point.key_sums();
  const std::int64_t H = sums.proxy_BHK.dim(1), T = sums.proxy_BHK.dim(2);
  const auto rows = static_cast<double>(T);
  std::vector<HeadSummary> heads;
  for (std::int64_t h = 0; h < H; ++h) {
    HeadSummary& head = heads.emplace_back();
    head.layer = point.layer;
    head.head = h;
    for (std::int64_t k = 0; k < T; ++k) {
      const double sum = sums.proxy_BHK.item(h * T + k);
      head.alpha_T.push_back(sum / rows_T[static_cast<std::size_t>(k)]);
      head.share_T.push_back(sum / rows);
      by_distance_T[static_cast<std::size_t>(k)] += sums.by_distance_BHK.item(h * T + k);
    }
    head.self = sums.by_distance_BHK.item(h * T) / rows;
    if (T > 1) head.previous = sums.by_distance_BHK.item(h * T + 1) / (rows - 1);
    if (point.has_extra_key) head.alpha_star = (1 + sums.extra_proxy_BH.item(h)) / (rows + 1);
    head.row_sum = sums.row_sum_BH.item(h);
  }
  return heads;
}

// Lengths of the vectors of the last T positions of x_1TC, or of x_1GTD, then means over g.
std::vector<double> vector_norms(const Tensor& x, std::int64_t T) {
  const Tensor values = x.to(Device::cpu).to(DType::F64);
  const std::int64_t positions = values.dim(-2), width = values.dim(-1), G = values.size() / (positions * width);
  std::vector<double> norms(static_cast<std::size_t>(T), 0);
  const double* value = values.data<double>();
  for (std::int64_t g = 0; g < G; ++g)
    for (std::int64_t t = 0; t < positions; ++t) {
      double sum = 0;
      for (std::int64_t d = 0; d < width; ++d, ++value) sum += *value * *value;
      if (t >= positions - T)
        norms[static_cast<std::size_t>(t - (positions - T))] += std::sqrt(sum) / static_cast<double>(G);
    }
  return norms;
}

struct SummaryHooks final : HiddenStateHooks {
  SummaryHooks(AttentionSummary& summary, const Sizes& sizes, std::int64_t extra_tokens, bool needs_patterns,
               SummaryVisitor& visitor, const std::function<void(std::int64_t)>& after_layer)
      : summary(summary),
        sizes(sizes),
        extra_tokens(extra_tokens),
        T(static_cast<std::int64_t>(summary.tokens_T.size())),
        needs_patterns(needs_patterns),
        visitor(visitor),
        after_layer(after_layer) {}

  void hidden_state(std::int64_t l, const Tensor& x_BTC) override {
    visitor.hidden_state(l, x_BTC);
    summary.hidden_norm_LT.push_back(vector_norms(x_BTC, T));
  }

  void attention(AttentionPoint& point) override {
    if (point.has_extra_key) summary.extra = Evaluation::Extra::key;
    visitor.attention(point);
    summary.value_norm_LT.resize(static_cast<std::size_t>(point.layer));  // empty for layers without attention
    summary.rows_LT.resize(static_cast<std::size_t>(point.layer));
    summary.value_norm_LT.push_back(vector_norms(point.v_BGTD, T));
    const std::vector<double> rows_X = rows_that_see(sizes, point.layer, T, extra_tokens, 1, T + extra_tokens)[0];
    summary.rows_LT.emplace_back(rows_X.begin() + extra_tokens, rows_X.end());
    if (needs_patterns) {
      add_patterns(point, rows_X);
    } else {
      std::ranges::move(summaries_of_sums(point, rows_X, summary.by_distance_T), std::back_inserter(summary.head_LH));
    }
    visitor.heads(point, std::span(summary.head_LH).last(static_cast<std::size_t>(summary.heads)));
    if (after_layer) after_layer(point.layer + 1);
  }

  // As many patterns at a time as there are threads.
  void add_patterns(const AttentionPoint& point, const std::vector<double>& rows_X) {
    const Before before{extra_tokens + (point.has_extra_key ? 1 : 0), extra_tokens};
    const std::int64_t at_once = point.q_BHTD.device() == Device::cpu ? thread_count() : 1;
    for (std::int64_t first = 0; first < summary.heads; first += at_once) {
      std::vector<std::pair<HeadSummary, Tensor>> computed(
          static_cast<std::size_t>(std::min(at_once, summary.heads - first)));
      parallel_for(static_cast<std::int64_t>(computed.size()), [&](std::int64_t n) {
        auto& [head, weights_TT] = computed[static_cast<std::size_t>(n)];
        const ProxyPattern proxy = proxy_pattern(point.pattern(0, first + n), before, T);
        weights_TT = proxy.weights_TT;
        head = summary_of_head(proxy, before, rows_X);
        head.layer = point.layer;
        head.head = first + n;
      });
      for (auto& [head, weights_TT] : computed) {
        visitor.pattern(weights_TT);
        const auto p = view<double, 2>(weights_TT);
        for (std::size_t i = 0; i < p.shape(0); ++i)
          for (std::size_t j = 0; j <= i; ++j) summary.by_distance_T[i - j] += p(i, j);
        summary.head_LH.push_back(std::move(head));
      }
    }
  }

  AttentionSummary& summary;
  const Sizes& sizes;
  std::int64_t extra_tokens, T;
  bool needs_patterns;
  SummaryVisitor& visitor;
  const std::function<void(std::int64_t)>& after_layer;
};

double mean_over_heads(const std::vector<HeadSummary>& heads, auto&& value) {
  double sum = 0;
  for (const HeadSummary& head : heads) sum += value(head);
  return sum / static_cast<double>(heads.size());
}

}  // namespace

double AttentionSummary::alpha_1() const {
  return mean_over_heads(head_LH, [](const HeadSummary& head) { return head.alpha_1(); });
}

double AttentionSummary::alpha_star() const {
  return mean_over_heads(head_LH, [](const HeadSummary& head) { return head.alpha_star; });
}

double AttentionSummary::sink_1(double epsilon) const {
  return 100 * mean_over_heads(head_LH, [&](const HeadSummary& head) { return head.alpha_1() > epsilon ? 1.0 : 0.0; });
}

std::vector<std::int64_t> AttentionSummary::first_key_rows() const {
  std::vector<std::int64_t> rows_L;
  for (const auto& rows_T : rows_LT)
    if (!rows_T.empty()) rows_L.push_back(static_cast<std::int64_t>(rows_T.front()));
  return rows_L;
}

std::vector<double> AttentionSummary::alpha_1_by_layer() const {
  std::vector<double> alpha_L(static_cast<std::size_t>(layers), kNotMeasured);
  for (const HeadSummary& head : head_LH) {
    double& alpha = alpha_L[static_cast<std::size_t>(head.layer)];
    alpha = (head.head == 0 ? 0 : alpha) + head.alpha_1() / static_cast<double>(heads);
  }
  return alpha_L;
}

std::pair<double, std::int64_t> AttentionSummary::massive_ratio() const {
  std::pair<double, std::int64_t> largest{0, 0};
  for (std::size_t l = 0; l < hidden_norm_LT.size(); ++l) {
    const std::vector<double>& norm_T = hidden_norm_LT[l];
    const double others = std::accumulate(norm_T.begin() + 1, norm_T.end(), 0.0);
    const double ratio = others > 0 ? norm_T[0] * static_cast<double>(norm_T.size() - 1) / others : 1;
    if (ratio > largest.first) largest = {ratio, static_cast<std::int64_t>(l)};
  }
  return largest;
}

AttentionSummary summarise_attention(LanguageModel& model, const Tensor& tokens_1T, SummaryVisitor* visitor,
                                     bool has_logits, const std::function<void(std::int64_t)>& after_layer) {
  const Sizes& sizes = model.sizes();
  AttentionSummary summary;
  for (std::int32_t id : view<std::int32_t, 2>(tokens_1T)) summary.tokens_T.push_back(id);
  summary.layers = sizes.layers;
  summary.heads = sizes.heads;
  if (model.extra_tokens() > 0) summary.extra = Evaluation::Extra::token;
  const auto T = static_cast<std::int64_t>(summary.tokens_T.size());
  const bool for_visitor = visitor && visitor->needs_patterns(),
             needs_patterns = for_visitor || model.extra_tokens() > 0;
  SINK_CHECK(!needs_patterns || T <= kLongestPatterns, "attention",
             "expected at most " + std::to_string(kLongestPatterns) + " tokens " +
                 (for_visitor ? "for a page of patterns" : "for a model with a sink token") + ", got " +
                 std::to_string(T) + "; shorten the text",
             Exit::bad_input);
  summary.by_distance_T.assign(static_cast<std::size_t>(T), 0);
  SummaryVisitor none;
  SummaryHooks hooks(summary, sizes, model.extra_tokens(), needs_patterns, visitor ? *visitor : none, after_layer);
  if (!has_logits) {
    model.next_logits(tokens_1T, {.hooks = &hooks});
    require_finite_stream(summary.hidden_norm_LT);
  } else if (T > std::max<std::int64_t>(1, sizes.prefix)) {
    summary.loss =
        model.loss(given_tokens(tokens_1T, sizes.vocabulary, sizes.prefix), 1, {.hooks = &hooks}).value().item();
    require_finite_loss(summary.loss);
  } else {  // no target: the loss of any next token is this minus its logit
    const Tensor logits_1V = model.next_logits(tokens_1T, {.hooks = &hooks}).to(Device::cpu).to(DType::F64);
    require_finite_loss(log_sum_exp(std::span(logits_1V.data<double>(), static_cast<std::size_t>(logits_1V.size()))));
  }
  for (double& share : summary.by_distance_T)
    share /= static_cast<double>(T) * static_cast<double>(summary.head_LH.size());
  VisibleKeys keys = visible_keys(sizes, T, model.extra_tokens(), summary.extra == Evaluation::Extra::key);
  const EvenAttention even = even_attention(keys);
  summary.even_alpha_1 = even.alpha_1;
  summary.even_alpha_star = even.alpha_star;
  keys.layers = 1;
  for (std::int64_t index = 0; index < sizes.attention_layers(); ++index) {
    keys.global_layers = sizes.is_global(sizes.attention_layer(index));
    summary.even_alpha_1_L.push_back(even_alpha(keys, 1));
  }
  return summary;
}

void FirstTokenByQuery::attention(const AttentionPoint& point) {
  const std::int64_t H = point.q_BHTD.dim(1), T = point.q_BHTD.dim(2);
  const FirstKeyRows rows = first_key_rows(point);
  if (!rows.weight_BHT.defined() || point.q_BHTD.dim(3) == 1) return;
  sum_T.resize(static_cast<std::size_t>(T));
  heads_T.resize(static_cast<std::size_t>(T));
  const auto seen = static_cast<std::int64_t>(rows_that_see(sizes, point.layer, T, 0, 1, 1)[0][0]);
  for (std::int64_t h = 0; h < H; ++h) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::int64_t i = 0; i < seen; ++i) {
      const double weight = rows.weight_BHT.item(h * T + i), others = rows.others_BHT.item(h * T + i);
      sum_T[static_cast<std::size_t>(i)] += weight / (weight + others);
      ++heads_T[static_cast<std::size_t>(i)];
      if (i == 0) continue;
      const double ln_i = std::log(static_cast<double>(i + 1)), margin = rows.margin(point, 0, h, i);
      ++n, x += ln_i, y += margin, xx += ln_i * ln_i, xy += ln_i * margin;
    }
    margin_slope_LH.push_back(n > 1 ? (n * xy - x * y) / (n * xx - x * x) : kNotMeasured);
  }
}

void FirstTokenByQuery::add_to(AttentionSummary& summary) const {
  if (margin_slope_LH.size() != summary.head_LH.size() || summary.extra == Evaluation::Extra::token) return;
  for (std::size_t n = 0; n < margin_slope_LH.size(); ++n) summary.head_LH[n].margin_slope = margin_slope_LH[n];
  for (std::size_t i = 0; i < sum_T.size(); ++i)
    summary.alpha_1_by_query_T.push_back(heads_T[i] > 0 ? sum_T[i] / heads_T[i] : kNotMeasured);
}

std::vector<SecondarySink> secondary_sinks(const AttentionSummary& summary) {
  const auto T = static_cast<std::int64_t>(summary.tokens_T.size());
  std::vector<SecondarySink> sinks;
  for (std::int64_t k = 2; k <= T; ++k) {
    SecondarySink sink{.position = k};
    for (const HeadSummary& head : summary.head_LH) {
      const std::vector<double>& rows_T = summary.rows_LT[static_cast<std::size_t>(head.layer)];
      if (rows_T[static_cast<std::size_t>(k - 1)] < std::max(8.0, rows_T[0] / 4)) continue;
      if (!(head.alpha_T[static_cast<std::size_t>(k - 1)] > kSinkEpsilons[kPaperEpsilonIndex])) continue;
      if (sink.heads++ == 0) sink.first_layer = head.layer;
      if (sink.layers == 0 || sink.last_layer != head.layer) ++sink.layers;
      sink.last_layer = head.layer;
    }
    if (sink.heads > 0) sinks.push_back(sink);
  }
  std::stable_sort(sinks.begin(), sinks.end(), [](const auto& a, const auto& b) { return a.heads > b.heads; });
  return sinks;
}

}  // namespace sink
