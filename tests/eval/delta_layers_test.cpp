// A model of which only some layers have attention: measures, patterns and interventions are those of these layers, and
// the others are refused by name.
#include <doctest/doctest.h>

#include <cmath>

#include "eval/attention/attention_output.h"
#include "eval/attention/attention_summary.h"
#include "eval/explain/explanation.h"
#include "eval/input_tokens.h"
#include "eval/interventions/interventions.h"
#include "eval/sink/attention_patterns.h"
#include "eval/sink/evaluation_table.h"
#include "model/model_checkpoint.h"
#include "tests/model/model_support.h"
#include "tests/support/check_refused.h"

using namespace sink;
using namespace sink::test;

namespace {

// Layers 1 and 3 of 4 have attention.
std::unique_ptr<LanguageModel> mixed_model() {
  Sizes sizes = small_sizes();
  sizes.layers = 4, sizes.attention_every = 2;
  return make_model("qwen3_5", sizes, DType::F64);
}

constexpr std::int64_t T = 9;

}  // namespace

TEST_CASE("layers without attention: the summary and the evaluation of a text have those with it, by their numbers") {
  if (!is_built("qwen3_5")) return;
  const auto model = mixed_model();
  const Sizes& sizes = model->sizes();
  const Tensor tokens = random_tokens(1, T, sizes.vocabulary);
  Watcher watcher;
  model->logits(tokens, {.hooks = &watcher});
  REQUIRE(watcher.map_LH.size() == 2);
  auto alpha_1 = [&](std::size_t row, std::int64_t head) {
    double sum = 0;
    for (std::int64_t i = 0; i < T; ++i) sum += watcher.map_LH[row][static_cast<std::size_t>(head)].item(i * T);
    return sum / T;
  };

  const AttentionSummary summary = summarise_attention(*model, tokens);
  REQUIRE(std::ssize(summary.head_LH) == 2 * sizes.heads);
  double mean = 0;
  for (const HeadSummary& head : summary.head_LH) {
    CHECK((head.layer == 1 || head.layer == 3));
    const double expected = alpha_1(head.layer == 1 ? 0 : 1, head.head);
    CHECK(head.alpha_1() == doctest::Approx(expected).epsilon(1e-12));
    mean += expected / static_cast<double>(summary.head_LH.size());
  }
  CHECK(summary.alpha_1() == doctest::Approx(mean).epsilon(1e-12));
  const std::vector<double> by_layer = summary.alpha_1_by_layer();
  CHECK((std::isnan(by_layer[0]) && std::isnan(by_layer[2]) && by_layer[1] > 0 && by_layer[3] > 0));
  CHECK(summary.value_norm_LT[2].empty());
  CHECK(summary.first_key_rows() == std::vector<std::int64_t>{T, T});
  CHECK_NOTHROW(secondary_sinks(summary));
  SummaryLabels labels;
  labels.token_text = [](std::int32_t id) { return std::to_string(id); };
  const std::string table = attention_table(summary, labels);
  CHECK_MESSAGE(table.find("0 ·") != std::string::npos, table);

  const Evaluation e = evaluate(*model, given_tokens(tokens, sizes.vocabulary, 0, 1), 1, true);
  CHECK(e.attention_layers == std::vector<std::int64_t>{1, 3});
  REQUIRE(e.proxy.alpha_1_layer_head.size() == 2);
  CHECK(e.proxy.alpha_1_layer_head[1][0] == doctest::Approx(alpha_1(1, 0)).epsilon(1e-12));
  CHECK(e.proxy.alpha_1 == doctest::Approx(mean).epsilon(1e-12));
  CHECK(e.hidden_norm.size() == 5);
  CHECK(e.patterns.layers == 2);
  CHECK_MESSAGE(evaluation_table(e, "tokens").find("\n    3 ") != std::string::npos, evaluation_table(e, "tokens"));
}

TEST_CASE("layers without attention: a checkpoint has them, but not the order of heads of a GGUF file") {
  if (!is_built("qwen3_5")) return;
  Sizes sizes = small_sizes();
  sizes.layers = 4, sizes.attention_every = 2;
  const Ablation& ablation = ablation_named("qwen3_5");
  const auto model = ablation.make_model(sizes, InitScheme::torch, 5, DType::F32);
  Checkpoint checkpoint;
  store_model(ablation, *model, checkpoint);
  const auto again = load_model(checkpoint, ablation, DType::F32, "test");
  const Tensor tokens = random_tokens(1, T, sizes.vocabulary);
  CHECK(relative_difference(again->logits(tokens), model->logits(tokens)) == 0);
  sizes.delta_alternating = true;
  check_refused(
      [&] { store_model(ablation, *ablation.make_model(sizes, InitScheme::torch, 5, DType::F32), checkpoint); },
      {"the order of heads that GGUF files have"}, Exit::usage);
}

TEST_CASE("layers without attention: interventions and explanations act on those with it, and refuse others by name") {
  if (!is_built("qwen3_5")) return;
  const auto model = mixed_model();
  const Sizes& sizes = model->sizes();
  const Batch sequences = given_tokens(random_tokens(2, T, sizes.vocabulary), sizes.vocabulary, 0);
  for (const bool mean : {false, true}) {
    const Interventions all = intervene(*model, sequences, {without_each_head(mean)}, 2, false);
    REQUIRE(std::ssize(all.results) == 2 * sizes.heads);
    for (const InterventionResult& result : all.results) {
      CHECK((result.layer == 1 || result.layer == 3));
      CHECK(std::abs(result.change) > 0);
    }
  }
  Intervention mask;
  mask.name = mask.meaning = "mask";
  mask.layers = {2};
  check_refused([&] { intervene(*model, sequences, {mask}, 2, false); },
                {"the layer must have attention, as 1, 3; got 2"}, Exit::usage);
  mask.what = Intervention::What::clip, mask.largest = 0.1, mask.tokens = {};
  CHECK_NOTHROW(intervene(*model, sequences, {mask}, 2, false));
  ExplainOptions options;
  options.place.layer = 2;
  check_refused([&] { explain(*model, random_tokens(1, T, sizes.vocabulary), options); },
                {"--layer must be one with attention, of 1, 3; got 2"}, Exit::usage);
  options.place.layer.reset();
  CHECK(explain(*model, random_tokens(1, T, sizes.vocabulary), options).layer == 1);
  options.place.layer = 3;
  CHECK_NOTHROW(explain(*model, random_tokens(1, T, sizes.vocabulary), options));
}
