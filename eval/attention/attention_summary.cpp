#include "eval/attention/attention_summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "eval/sink/even_attention.h"

namespace sink {
namespace {

// `columns` of the pattern come before the tokens: the extra key or the sink token. `rows` likewise.
struct Before {
  std::int64_t columns, rows;
};

HeadSummary summary_of_head(const Tensor& pattern, Before before, std::int64_t T) {
  HeadSummary head;
  head.alpha_T.assign(static_cast<std::size_t>(T), 0);
  const auto a = view<double, 2>(pattern);
  double star = 1, row_sums = 0;  // the row of `*` itself has weight 1 on itself
  for (std::int64_t i = 0; i < T; ++i) {
    const auto row = static_cast<std::size_t>(i + before.rows);
    double sum = 0, acting = 0;
    for (std::size_t j = 0; j < a.shape(1); ++j) {
      sum += std::abs(a(row, j));
      acting += a(row, j);
    }
    auto weight = [&](std::int64_t j) {  // of token j; 0 for a row without any weight
      return sum > 0 ? std::abs(a(row, static_cast<std::size_t>(j + before.columns))) / sum : 0;
    };
    for (std::int64_t j = 0; j < T; ++j) head.alpha_T[static_cast<std::size_t>(j)] += weight(j);
    head.self += weight(i);
    if (i > 0) head.previous += weight(i - 1);
    if (before.columns > 0) star += weight(-1);
    row_sums += acting - (before.columns > before.rows ? a(row, 0) : 0);
  }
  const auto rows = static_cast<double>(T);
  head.share_T = head.alpha_T;
  for (double& share : head.share_T) share /= rows;
  for (std::int64_t k = 0; k < T; ++k) head.alpha_T[static_cast<std::size_t>(k)] /= static_cast<double>(T - k);
  head.alpha_star = before.columns > 0 ? star / (rows + 1) : 0;
  head.self /= rows;
  head.previous /= std::max(rows - 1, 1.0);
  head.row_sum = row_sums / rows;
  return head;
}

struct SummaryHooks final : ForwardHooks {
  SummaryHooks(AttentionSummary& summary, std::int64_t extra_tokens) : summary(summary), extra_tokens(extra_tokens) {}
  void attention(AttentionPoint& point) override {
    if (point.has_extra_key) summary.extra = Evaluation::Extra::key;
    const auto T = static_cast<std::int64_t>(summary.tokens_T.size());
    for (std::int64_t h = 0; h < summary.heads; ++h) {
      HeadSummary head =
          summary_of_head(point.pattern(0, h), {extra_tokens + (point.has_extra_key ? 1 : 0), extra_tokens}, T);
      head.layer = point.layer;
      head.head = h;
      summary.head_LH.push_back(std::move(head));
    }
  }
  AttentionSummary& summary;
  std::int64_t extra_tokens;
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

std::vector<double> AttentionSummary::alpha_1_by_layer() const {
  std::vector<double> alpha_L(static_cast<std::size_t>(layers), 0);
  for (const HeadSummary& head : head_LH)
    alpha_L[static_cast<std::size_t>(head.layer)] += head.alpha_1() / static_cast<double>(heads);
  return alpha_L;
}

AttentionSummary summarise_attention(LanguageModel& model, const Tensor& tokens_1T) {
  const Sizes& sizes = model.sizes();
  AttentionSummary summary;
  for (std::int32_t id : view<std::int32_t, 2>(tokens_1T)) summary.tokens_T.push_back(id);
  summary.layers = sizes.layers;
  summary.heads = sizes.heads;
  if (model.extra_tokens() > 0) summary.extra = Evaluation::Extra::token;
  SummaryHooks hooks(summary, model.extra_tokens());
  const auto T = static_cast<std::int64_t>(summary.tokens_T.size());
  if (T > std::max<std::int64_t>(1, sizes.prefix))
    summary.loss =
        model.loss(given_tokens(tokens_1T, sizes.vocabulary, sizes.prefix), 1, {.hooks = &hooks}).value().item();
  else
    model.next_logits(tokens_1T, {.hooks = &hooks});
  const EvenAttention even = even_attention(sizes, T, summary.extra != Evaluation::Extra::none);
  summary.even_alpha_1 = even.alpha_1;
  summary.even_alpha_star = even.alpha_star;
  return summary;
}

std::vector<SecondarySink> secondary_sinks(const AttentionSummary& summary) {
  const auto T = static_cast<std::int64_t>(summary.tokens_T.size());
  const std::int64_t fewest_rows = std::max<std::int64_t>(8, (T + 3) / 4);
  std::vector<SecondarySink> sinks;
  for (std::int64_t k = 2; T - k + 1 >= fewest_rows; ++k) {
    SecondarySink sink{.position = k};
    for (const HeadSummary& head : summary.head_LH) {
      if (!(head.alpha_T[static_cast<std::size_t>(k - 1)] > kSinkEpsilons[kStudyEpsilon])) continue;
      if (sink.heads++ == 0) sink.first_layer = head.layer;
      sink.last_layer = head.layer;
    }
    if (sink.heads > 0) sinks.push_back(sink);
  }
  std::stable_sort(sinks.begin(), sinks.end(), [](const auto& a, const auto& b) { return a.heads > b.heads; });
  return sinks;
}

}  // namespace sink
