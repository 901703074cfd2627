// The zero-score null: even attention where a model has no bias, else softmax of its biases in plain loops.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "eval/sink/evaluation.h"
#include "eval/sink/even_attention.h"
#include "tests/support/built_ablations.h"

using namespace sink;

namespace {

using Approx = doctest::Approx;
constexpr std::int64_t kZeroSequences = 3, kZeroTokens = 9;

struct ZeroScoreCase {
  const char* ablation;
  bool is_even;
  std::int64_t window = 0, prefix = 0;
};
constexpr ZeroScoreCase kZeroScoreCases[] = {
    {"baseline", true},       {"baseline", true, 4}, {"baseline", true, 4, 2},   {"bias_kv", true},
    {"bias_k", true, 5, 2},   {"op_softmax1", true}, {"bias_sinktoken", true},   {"bias_sinktoken", true, 3},
    {"op_sink_logit", false}, {"pos_alibi", false},  {"pos_alibi", false, 4, 2}, {"pos_t5", false}};

std::unique_ptr<LanguageModel> zero_score_model(const ZeroScoreCase& c) {
  const Sizes sizes{.layers = 2,
                    .heads = 2,
                    .width = 16,
                    .feed_forward = 12,
                    .context = 16,
                    .vocabulary = 23,
                    .window = c.window,
                    .prefix = c.prefix};
  auto model = ablation_named(c.ablation).make_model(sizes, InitScheme::torch, 3, DType::F64);
  for (const auto& parameter : model->parameters()) {  // an extra key, a logit and the biases of T5
    const bool extra = parameter->name().find("extra") != std::string::npos;
    if (!extra && parameter->name().find("bias") == std::string::npos) continue;
    Tensor values = parameter->mutable_master().reshape({parameter->master().size()});
    double n = 0;
    for (double& value : view<double, 1>(values)) value = std::sin(++n) * 2;
  }
  model->parameters().refresh();
  return model;
}

// alpha_1 by layer and head of a softmax whose scores are the biases, and the logit of an extra key.
struct BiasesAlone final : ForwardHooks {
  explicit BiasesAlone(std::int64_t key) : key(key) {}
  void attention(AttentionPoint& point) override {
    const std::int64_t H = point.q_BHTD.dim(1), T = point.q_BHTD.dim(2);
    alpha_LH.emplace_back();
    for (std::int64_t h = 0; h < H; ++h) {
      double column = 0, rows = 0;
      for (std::int64_t i = 0; i < T; ++i) {
        double first = 0, sum = 0;
        bool sees = false;
        for (const AttentionTrace::Key& one : point.trace()({}, 0, h, i).keys) {
          const double g = std::exp(one.j >= 0 ? one.bias : one.k.empty() ? one.s : 0);
          sum += g;
          if (one.j == key) first = g, sees = true;
        }
        column += first / sum;
        rows += sees;
      }
      alpha_LH.back().push_back(column / rows);
    }
  }
  std::int64_t key;
  ValueTable alpha_LH;
};

}  // namespace

TEST_CASE("zero scores: alpha_1 and Sink_1 of the biases, the mask and the extra key alone") {
  for (const ZeroScoreCase& c : kZeroScoreCases) {
    CAPTURE(c.ablation);
    CAPTURE(c.window);
    if (!test::is_built(c.ablation)) continue;
    auto model = zero_score_model(c);
    const Batch input = random_tokens(23, kZeroSequences, kZeroTokens, 11);
    BiasesAlone biases(model->extra_tokens());
    model->loss(input, 1, {.hooks = &biases});
    const Evaluation e = evaluate(*model, input, 2, false);
    REQUIRE(e.zero_score_alpha_1_layer_head.size() == 2);
    double alpha = 0, sinks = 0;
    for (std::size_t l = 0; l < 2; ++l)
      for (std::size_t h = 0; h < 2; ++h) {
        const double expected = biases.alpha_LH[l][h];
        CHECK(e.zero_score_alpha_1_layer_head[l][h] == Approx(expected).epsilon(1e-12));
        CHECK(e.zero_score_alpha_1_raw_layer_head[l][h] == Approx(expected).epsilon(1e-12));
        CHECK(e.zero_score_sink_1_layer_head[l][h] == (expected > 0.3 ? 100 : 0));
        alpha += expected / 4, sinks += expected > 0.3 ? 25 : 0;
      }
    CHECK(e.zero_score_alpha_1 == Approx(alpha).epsilon(1e-12));
    CHECK(e.zero_score_sink_1 == Approx(sinks));
    const double even = even_alpha(
        visible_keys(model->sizes(), kZeroTokens, model->extra_tokens(), e.extra == Evaluation::Extra::key), 1);
    CHECK((std::abs(e.zero_score_alpha_1 - even) < 1e-12) == c.is_even);
  }
}

TEST_CASE("zero scores: of packed sequences every row spreads its weight over its own document") {
  auto model = zero_score_model({"baseline", true});
  const Batch whole = random_tokens(23, 2, kZeroTokens, 11);
  DocumentPlaces places{Tensor::zeros({2, kZeroTokens}, DType::I32), {}};
  double expected = 0;
  for (std::int64_t n = 0; n < 2; ++n) {  // first documents of 2 and 6 tokens
    const std::int64_t length = 4 * n + 2;
    for (std::int64_t t = length; t < kZeroTokens; ++t)
      places.starts_BT.data<std::int32_t>()[n * kZeroTokens + t] = static_cast<std::int32_t>(length);
    for (std::int64_t i = 1; i <= length; ++i) expected += 1 / static_cast<double>(2 * length * i);
  }
  const Batch packed(whole.tokens_BT(), whole.targets_BT(), 23, places);
  CHECK(evaluate(*model, packed, 2, false).zero_score_alpha_1 == Approx(expected).epsilon(1e-12));
}

TEST_CASE("zero scores: sigmoid gives every key a half, of which even attention is the proxy") {
  if (!test::is_built("op_sigmoid_none")) return;
  const std::int64_t T = 16;
  auto model = zero_score_model({"op_sigmoid_none", true});
  const Evaluation e = evaluate(*model, random_tokens(23, kZeroSequences, T, 11), 2, false);
  double even = 0;
  for (std::int64_t i = 1; i <= T; ++i) even += 1 / static_cast<double>(i * T);
  CHECK(e.zero_score_alpha_1 == Approx(even).epsilon(1e-7));  // 1e-8 is added to row sums
  CHECK(e.zero_score_alpha_1_raw == Approx(0.5).epsilon(1e-12));
  CHECK(e.zero_score_sink_1 == 0);
  CHECK(e.zero_score_sink_1_raw == 100);
}
