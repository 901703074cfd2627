// Sink_k by length and threshold: uniform attention in closed form, and the scores of a model at its context.
#include <doctest/doctest.h>

#include "engine/tensor_view.h"
#include "eval/input_tokens.h"
#include "eval/sink/evaluation_table.h"
#include "tests/support/built_ablations.h"

using namespace sink;
using doctest::Approx;

namespace {

constexpr std::int64_t kContext = 64;

std::unique_ptr<LanguageModel> model_named(const char* ablation, double query_key_scale, std::int64_t prefix = 0) {
  const Sizes sizes{.layers = 2,
                    .heads = 2,
                    .width = 16,
                    .feed_forward = 16,
                    .context = kContext,
                    .vocabulary = 23,
                    .prefix = prefix};
  auto model = ablation_named(ablation).make_model(sizes, InitScheme::torch, 3, DType::F64);
  for (const auto& parameter : model->parameters())
    if (parameter->name().ends_with("qkv.weight")) {
      Tensor values = parameter->mutable_master().reshape({parameter->master().size()});
      view<double, 1>(values) *= query_key_scale;
    }
  model->parameters().refresh();
  return model;
}

// H_n, the sum of 1/i.
double harmonic(std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 1; i <= n; ++i) sum += 1 / static_cast<double>(i);
  return sum;
}

}  // namespace

TEST_CASE("sink by length: uniform attention has alpha_k = (H_T - H_{k-1}) / (T - k + 1)") {
  auto model = model_named("baseline", 0);  // all scores are 0
  const Batch sequences = random_tokens(23, 5, kContext, 1, 0);
  // alpha_1 is 0.5208 at T = 4, 0.2113 at 16, 0.0741 at 64.
  const std::vector<std::int64_t> lengths{4, 16, 64, 1};
  const std::vector<double> epsilons{0.05, 0.1, 0.3, 0.6};
  Evaluation evaluation;
  add_sinks_by_length(*model, sequences, 2, epsilons, lengths, evaluation);
  const Evaluation::ByLength& kept = evaluation.by_length;
  for (const std::vector<SinkScores>* kind : {&kept.proxy, &kept.raw}) {
    REQUIRE(kind->size() == lengths.size());
    for (std::size_t t = 0; t < lengths.size(); ++t) {
      const std::int64_t T = lengths[t];
      const SinkScores& scores = (*kind)[t];
      CHECK_FALSE(scores.has_star());
      REQUIRE(static_cast<std::int64_t>(scores.alpha_k.size()) == std::min(T, kSinkPositions));
      for (std::int64_t k = 1; k <= std::min(T, kSinkPositions); ++k) {
        const double alpha = (harmonic(T) - harmonic(k - 1)) / static_cast<double>(T - k + 1);
        CHECK(scores.alpha_k[static_cast<std::size_t>(k - 1)] == Approx(alpha).epsilon(1e-12));
        for (std::size_t e = 0; e < epsilons.size(); ++e)
          CHECK(scores.sink_k_epsilon[e][static_cast<std::size_t>(k - 1)] == Approx(alpha > epsilons[e] ? 100 : 0));
      }
    }
  }
  CHECK(sinks_by_length_table(kept).find("T     16  token 1      0.2113   100.00   100.00     0.00     0.00  |     "
                                         "0.2113   100.00   100.00     0.00     0.00\n") != std::string::npos);
}

TEST_CASE("sink by length: of uniform attention with an extra key, alpha_* = (1 + H_{T+1} - 1) / (T + 1)") {
  if (!test::is_built("bias_k")) return;
  auto model = model_named("bias_k", 0);
  Evaluation evaluation;
  add_sinks_by_length(*model, random_tokens(23, 3, kContext, 1, 0), 3, {0.1, 0.3}, {8, 64}, evaluation);
  for (std::size_t t : {0, 1}) {
    const double T = t == 0 ? 8 : 64, alpha = harmonic(t == 0 ? 9 : 65) / (T + 1);  // 0.314, 0.073
    const SinkScores& raw = evaluation.by_length.raw[t];
    REQUIRE(raw.has_star());
    CHECK(raw.alpha_star == Approx(alpha).epsilon(1e-12));
    for (double share : raw.sink_star) CHECK(share == Approx(t == 0 ? 100 : 0));
  }
}

TEST_CASE("sink by length: at the sequences' own length it is what evaluate() measures; shorter ones are the first") {
  for (std::int64_t prefix : {0, 3}) {
    auto model = model_named("baseline", 4, prefix);
    const Batch sequences = random_tokens(23, 7, kContext, 1, std::max<std::int64_t>(0, prefix - 1));
    Evaluation whole = evaluate(*model, sequences, 3, false);
    const Evaluation short_one = evaluate(*model, sequences.first(20), 3, false);
    add_sinks_by_length(*model, sequences, 3, {0.2, 0.3, 0.4}, {20, kContext}, whole);
    CHECK(whole.by_length.proxy[1].alpha_k == whole.proxy.alpha_k);
    CHECK(whole.by_length.proxy[1].sink_k_epsilon == whole.proxy.sink_k_epsilon);
    CHECK(whole.by_length.raw[0].alpha_k == short_one.raw.alpha_k);
    CHECK(whole.by_length.raw[0].sink_k_epsilon == short_one.raw.sink_k_epsilon);
    CHECK(whole.proxy.sink_k_epsilon[0] != short_one.proxy.sink_k_epsilon[0]);
  }
}
