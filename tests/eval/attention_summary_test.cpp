// Where attention goes: a closed form for even attention, and the values of an Evaluation, which come from column sums
// and not from whole patterns.
#include "eval/attention/attention_summary.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "tests/support/built_ablations.h"
#include "tests/support/check_refused.h"

using namespace sink;

namespace {

using Approx = doctest::Approx;
constexpr std::int64_t kT = 13;

Sizes small_sizes(std::int64_t window = 0, std::int64_t prefix = 0) {
  return {.layers = 2,
          .heads = 4,
          .width = 32,
          .feed_forward = 24,
          .context = 16,
          .vocabulary = 23,
          .window = window,
          .prefix = prefix};
}

// Initial weights, with those of queries, keys and extra keys multiplied by `factor`.
std::unique_ptr<LanguageModel> model_of(const std::string& ablation, const Sizes& sizes, double factor) {
  auto model = ablation_named(ablation).make_model(sizes, InitScheme::torch, 3, DType::F64);
  for (const auto& parameter : model->parameters()) {
    if (!parameter->name().ends_with("qkv.weight") && parameter->name().find("extra") == std::string::npos) continue;
    Tensor values = parameter->mutable_master().reshape({parameter->master().size()});
    view<double, 1>(values) *= factor;
  }
  model->parameters().refresh();
  return model;
}

Batch one_text(const Sizes& sizes) {
  return given_tokens(random_tokens(sizes.vocabulary, 1, kT, 7).tokens_BT(), sizes.vocabulary, sizes.prefix);
}

}  // namespace

TEST_CASE("attention summary: refused where values of the model overflow") {
  const Sizes sizes = small_sizes();
  auto model = model_of("baseline", sizes, 1e200);  // scores of 1e400
  try {
    summarise_attention(*model, one_text(sizes).tokens_BT());
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(error.code == Exit::diverged);
    CHECK(std::string(error.what()).find("the loss is not finite") == 0);
  }
}

TEST_CASE("attention summary: a text of one token, which has no loss, is refused where values overflow") {
  const Sizes sizes = small_sizes();
  const Tensor token = Tensor::from<std::int32_t>({1, 1}, {3});
  CHECK(std::isnan(summarise_attention(*model_of("baseline", sizes, 1), token).loss));
  CHECK_THROWS_AS(summarise_attention(*model_of("baseline", sizes, 1e200), token), Error);
}

TEST_CASE("attention summary: without logits there is no loss, and values that overflow are refused") {
  const Sizes sizes = small_sizes();
  const Tensor text = one_text(sizes).tokens_BT();
  auto model = model_of("baseline", sizes, 1);
  const AttentionSummary with = summarise_attention(*model, text),
                         without = summarise_attention(*model, text, nullptr, false);
  CHECK(std::isfinite(with.loss));
  CHECK(std::isnan(without.loss));
  CHECK(with.alpha_1() == without.alpha_1());
  CHECK(with.hidden_norm_LT == without.hidden_norm_LT);
  auto overflows = model_of("baseline", sizes, 1e200);
  check_refused([&] { summarise_attention(*overflows, text, nullptr, false); }, {"the residual stream is not finite"},
                Exit::diverged);
}

TEST_CASE("attention summary: rows of equal weights give harmonic numbers") {
  const Sizes sizes = small_sizes();
  auto model = model_of("baseline", sizes, 0);
  const AttentionSummary summary = summarise_attention(*model, one_text(sizes).tokens_BT());
  REQUIRE(summary.head_LH.size() == 8);
  CHECK(summary.tokens_T.size() == kT);
  CHECK(summary.extra == Evaluation::Extra::none);
  std::vector<double> tail(kT + 2, 0.0);  // sum_{i >= k} 1 / i
  for (std::int64_t k = kT; k > 0; --k)
    tail[static_cast<std::size_t>(k)] = tail[static_cast<std::size_t>(k + 1)] + 1 / static_cast<double>(k);
  for (std::size_t n = 0; n < summary.head_LH.size(); ++n) {
    const HeadSummary& head = summary.head_LH[n];
    CHECK(head.layer == static_cast<std::int64_t>(n / 4));
    CHECK(head.head == static_cast<std::int64_t>(n % 4));
    for (std::size_t k = 1; k <= kT; ++k) {
      CHECK(head.alpha_T[k - 1] == Approx(tail[k] / static_cast<double>(kT - k + 1)).epsilon(1e-13));
      CHECK(head.share_T[k - 1] == Approx(tail[k] / kT).epsilon(1e-13));
    }
    CHECK(head.self == Approx(tail[1] / kT).epsilon(1e-13));
    CHECK(head.previous == Approx((tail[1] - 1) / (kT - 1)).epsilon(1e-13));
    CHECK(head.row_sum == Approx(1).epsilon(1e-13));
    CHECK(head.alpha_star == 0);
  }
  CHECK(summary.even_alpha_1 == Approx(tail[1] / kT).epsilon(1e-13));
  CHECK(summary.alpha_1() == Approx(summary.even_alpha_1).epsilon(1e-13));
  CHECK(summary.sink_1(0.2) == 100);  // 0.245
  CHECK(summary.sink_1(0.3) == 0);
  for (double alpha : summary.alpha_1_by_layer()) CHECK(alpha == Approx(summary.even_alpha_1).epsilon(1e-13));
}

TEST_CASE("attention summary: the loss, alpha and row sums are those of an evaluation") {
  struct Case {
    const char* ablation;
    Evaluation::Extra extra = Evaluation::Extra::none;
    std::int64_t window = 0, prefix = 0;
  };
  const Case cases[] = {{"baseline"},
                        {"baseline", Evaluation::Extra::none, 5},
                        {"bias_k", Evaluation::Extra::key, 5},
                        {"bias_sinktoken", Evaluation::Extra::token, 5},
                        {"baseline", Evaluation::Extra::none, 0, 4},
                        {"op_sigmoid_none"},
                        {"kern_mlp_none"},
                        {"bias_k", Evaluation::Extra::key},
                        {"op_softmax1", Evaluation::Extra::key},
                        {"bias_sinktoken", Evaluation::Extra::token},
                        {"bias_sinktoken", Evaluation::Extra::token, 5, 4}};
  for (const Case& c : cases) {
    if (!test::is_built(c.ablation)) continue;
    CAPTURE(c.ablation);
    CAPTURE(c.window);
    const Sizes sizes = small_sizes(c.window, c.prefix);
    auto model = model_of(c.ablation, sizes, 3);
    const Batch text = one_text(sizes);
    const AttentionSummary summary = summarise_attention(*model, text.tokens_BT());
    const Evaluation evaluation = evaluate(*model, text, 1, false);
    CHECK(summary.extra == c.extra);
    CHECK(summary.loss == Approx(evaluation.loss).epsilon(1e-12));
    CHECK(summary.alpha_1() == Approx(evaluation.proxy.alpha_1).epsilon(1e-7));
    if (evaluation.proxy.has_star()) CHECK(summary.alpha_star() == Approx(evaluation.proxy.alpha_star).epsilon(1e-7));
    double largest = 0;
    for (const HeadSummary& head : summary.head_LH) {
      const auto l = static_cast<std::size_t>(head.layer), h = static_cast<std::size_t>(head.head);
      const std::vector<double>& alpha_k = evaluation.proxy.alpha_layer_head_k[l][h];
      for (std::size_t k = 0; k < alpha_k.size(); ++k) {
        CHECK(head.alpha_T[k] == Approx(alpha_k[k]).epsilon(1e-7));
        largest = std::max(largest, alpha_k[k]);
      }
      CHECK(head.row_sum == Approx(evaluation.row_sum_layer_head[l][h]).epsilon(1e-9));
      double all = std::accumulate(head.share_T.begin(), head.share_T.end(), 0.0);
      const bool token = c.extra == Evaluation::Extra::token;
      const std::int64_t star_rows = token && c.window > 0 && c.prefix == 0 ? c.window : kT + 1;
      if (c.extra != Evaluation::Extra::none) all += (head.alpha_star * static_cast<double>(star_rows) - 1) / kT;
      if (!token || c.prefix == 0) CHECK(all == Approx(1).epsilon(1e-12));
    }
    CHECK(largest > summary.even_alpha_1);  // the patterns are not even
  }
}

TEST_CASE("attention summary: secondary sinks are tokens that enough queries see, those of the most heads first") {
  AttentionSummary summary;
  summary.tokens_T.assign(16, 0);
  summary.layers = 3;
  summary.heads = 1;
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    HeadSummary head;
    head.layer = layer;
    head.alpha_T.assign(16, 0.1);
    summary.head_LH.push_back(head);
    summary.rows_LT.emplace_back();
    for (int k = 0; k < 16; ++k) summary.rows_LT.back().push_back(16 - k);
  }
  CHECK(secondary_sinks(summary).empty());
  summary.head_LH[0].alpha_T[0] = 0.9;   // the first token is no secondary sink
  summary.head_LH[1].alpha_T[4] = 0.31;  // position 5
  summary.head_LH[0].alpha_T[8] = 0.5;   // position 9: seen by 8 queries, as few as count
  summary.head_LH[2].alpha_T[8] = 0.5;
  summary.head_LH[2].alpha_T[9] = 0.9;  // position 10: 7 queries
  const std::vector<SecondarySink> sinks = secondary_sinks(summary);
  REQUIRE(sinks.size() == 2);
  CHECK(sinks[0].position == 9);
  CHECK(sinks[0].heads == 2);
  CHECK(sinks[0].first_layer == 0);
  CHECK(sinks[0].last_layer == 2);
  CHECK(sinks[0].layers == 2);
  CHECK(sinks[1].position == 5);
  CHECK(sinks[1].heads == 1);
  // A window of 40 for 160 tokens: 40 queries see the first token, 10 the last but nine.
  summary.tokens_T.assign(160, 0);
  summary.head_LH.resize(1);
  summary.rows_LT.assign(1, {});
  summary.head_LH[0].alpha_T.assign(160, 0.1);
  for (std::int64_t k = 0; k < 160; ++k) summary.rows_LT[0].push_back(std::min(40.0, 160.0 - static_cast<double>(k)));
  summary.head_LH[0].alpha_T[150] = summary.head_LH[0].alpha_T[151] = 0.5;
  REQUIRE(secondary_sinks(summary).size() == 1);
  CHECK(secondary_sinks(summary)[0].position == 151);
}

// From the proxy weights of whole patterns: shares by distance, the weights of token 1 and the slopes of its margin.
struct PatternPositions final : SummaryVisitor {
  std::int64_t seen;  // queries that see token 1
  explicit PatternPositions(std::int64_t seen) : seen(seen) {}
  void pattern(const Tensor& weights_TT) override {
    const auto p = view<double, 2>(weights_TT);
    double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
    const auto point = [&](std::int64_t i) {
      const double first = p(static_cast<std::size_t>(i), 0);
      return std::pair(std::log(static_cast<double>(i + 1)), std::log(first / (1 - first)));
    };
    for (std::int64_t i = 1; i < seen; ++i) {
      mean_x += point(i).first / static_cast<double>(seen - 1);
      mean_y += point(i).second / static_cast<double>(seen - 1);
    }
    for (std::int64_t i = 1; i < seen; ++i) {
      const auto [x, y] = point(i);
      xy += (x - mean_x) * (y - mean_y);
      xx += (x - mean_x) * (x - mean_x);
    }
    slopes.push_back(xy / xx);
    for (std::size_t i = 0; i < kT; ++i) {
      by_query[i] += p(i, 0) / 8;
      for (std::size_t j = 0; j <= i; ++j) by_distance[i - j] += p(i, j) / (8 * kT);
    }
  }
  std::vector<double> slopes, by_query = std::vector<double>(kT, 0.0), by_distance = std::vector<double>(kT, 0.0);
};

TEST_CASE("attention summary: sums by key have the values of whole patterns, and any length") {
  struct Case {
    const char* ablation;
    std::int64_t window = 0, prefix = 0;
  };
  for (const Case& c :
       {Case{"baseline"}, {"baseline", 5}, {"baseline", 0, 4}, {"bias_k", 5}, {"op_sigmoid_none"}, {"op_softmax1"}}) {
    if (!test::is_built(c.ablation)) continue;
    CAPTURE(c.ablation);
    CAPTURE(c.window);
    const Sizes sizes = small_sizes(c.window, c.prefix);
    auto model = model_of(c.ablation, sizes, 3);
    const Tensor text = one_text(sizes).tokens_BT();
    const std::int64_t seen = c.window > 0 ? c.window : kT;
    PatternPositions visitor(seen);
    FirstTokenByQuery by_query(sizes);
    AttentionSummary sums = summarise_attention(*model, text, &by_query);
    const AttentionSummary patterns = summarise_attention(*model, text, &visitor);
    by_query.add_to(sums);
    const bool exponential = std::string(c.ablation) != "op_sigmoid_none";
    REQUIRE(sums.alpha_1_by_query_T.size() == (exponential ? kT : 0));
    for (std::size_t t = 0; t < kT; ++t) {
      CHECK(sums.by_distance_T[t] == Approx(visitor.by_distance[t]).epsilon(1e-12));
      CHECK(patterns.by_distance_T[t] == Approx(visitor.by_distance[t]).epsilon(1e-12));
      if (!exponential) continue;
      if (static_cast<std::int64_t>(t) < seen)
        CHECK(sums.alpha_1_by_query_T[t] == Approx(visitor.by_query[t]).epsilon(1e-12));
      else
        CHECK(std::isnan(sums.alpha_1_by_query_T[t]));
    }
    REQUIRE(sums.head_LH.size() == patterns.head_LH.size());
    for (std::size_t n = 0; n < sums.head_LH.size(); ++n) {
      const HeadSummary &ours = sums.head_LH[n], &theirs = patterns.head_LH[n];
      CHECK(ours.layer == theirs.layer);
      CHECK(ours.head == theirs.head);
      CHECK(std::isnan(ours.margin_slope) == !exponential);
      if (exponential) CHECK(ours.margin_slope == Approx(visitor.slopes[n]).epsilon(1e-9));
      for (std::size_t t = 0; t < kT; ++t) {
        CHECK(ours.alpha_T[t] == Approx(theirs.alpha_T[t]).epsilon(1e-12));
        CHECK(ours.share_T[t] == Approx(theirs.share_T[t]).epsilon(1e-12));
      }
      for (auto member : {&HeadSummary::alpha_star, &HeadSummary::self, &HeadSummary::previous, &HeadSummary::row_sum})
        CHECK(ours.*member == Approx(theirs.*member).epsilon(1e-12));
    }
  }
  Sizes sizes = small_sizes();
  sizes.context = kLongestPatterns + 100;
  const Tensor text = random_tokens(sizes.vocabulary, 1, sizes.context, 7).tokens_BT();
  std::vector<std::int64_t> layers;
  const AttentionSummary even = summarise_attention(*model_of("baseline", sizes, 0), text, nullptr, true,
                                                    [&](std::int64_t done) { layers.push_back(done); });
  CHECK(layers == std::vector<std::int64_t>{1, 2});
  CHECK(even.alpha_1() == Approx(even.even_alpha_1).epsilon(1e-13));
  SummaryVisitor visitor;
  check_refused([&] { summarise_attention(*model_of("baseline", sizes, 1), text, &visitor); },
                {"expected at most 1024 tokens for a page of patterns, got 1124; shorten the text"}, Exit::bad_input);
  if (test::is_built("bias_sinktoken"))
    check_refused([&] { summarise_attention(*model_of("bias_sinktoken", sizes, 1), text); },
                  {"expected at most 1024 tokens for a model with a sink token, got 1124"}, Exit::bad_input);
}
