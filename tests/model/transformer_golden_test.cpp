// The whole model against an independent PyTorch float64 implementation (tests/golden/model/make_golden.py): logits,
// loss, every gradient, ten optimiser steps and the measurements, for every ablation, several also with a window, a
// prefix or grouped heads.
#include <doctest/doctest.h>

#include <set>

#include "autograd/tape.h"
#include "engine/implementation.h"
#include "eval/sink/attention_patterns.h"
#include "tests/golden/model/golden_case.h"
#include "train/training_run.h"

using namespace sink;

namespace {

void check_number(const GoldenCase& golden, const std::string& what, double actual, double expected, double relative) {
  CHECK_MESSAGE(std::abs(actual - expected) <= relative * std::abs(expected), golden.name, ": ", what, ": expected ",
                expected, ", got ", actual, ", off by ", std::abs(actual - expected));
}

// Logits, loss and all gradients within `relative` of the golden ones.
void check_model(const GoldenCase& golden, DType type, double relative) {
  auto model = golden.model(type);
  std::int64_t first = 0;
  golden.check_summary("logits", model->logits(golden.tokens), golden.expected("logits"), first, relative);
  Tape tape;
  Var loss = model->loss(golden.batch());
  check_number(golden, "loss", loss.value().item(), golden.expected("loss").item(), relative);
  tape.backward(loss);
  std::map<std::string, Tensor> gradients;
  for (const auto& parameter : model->parameters()) gradients[parameter->name()] = parameter->var().grad();
  Tensor expected = golden.expected("gradients");
  first = 0;
  for (const GoldenParameter& parameter : golden.parameters) {
    const Tensor& gradient = gradients.at(parameter.name);
    SINK_CHECK(gradient.defined(), "golden", parameter.name + " has received no gradient");
    golden.check_summary(parameter.name, gradient, expected, first, relative);
  }
  CHECK(first == expected.size());
}

// Losses, then gradient norms, of the golden training: (2, steps).
Tensor train(const GoldenCase& golden, DType type) {
  RunConfig config = golden_config(golden, type);
  config.learning_rate = golden.setting("learning_rate");
  config.beta1 = golden.setting("beta1");
  config.beta2 = golden.setting("beta2");
  config.adam_epsilon = golden.setting("adam_eps");
  config.weight_decay = golden.setting("weight_decay");
  config.clip = golden.setting("clip");
  TrainingRun run(config, ablation_named(golden.ablation), std::make_unique<OneBatch>(golden.batch()));
  golden.set_initial_values(run.model());
  std::int64_t steps = golden.size("training_steps");
  Tensor training = Tensor::empty({2, steps}, DType::F64);
  for (std::int64_t n = 0; n < steps; ++n) {
    StepResult result = run.step();
    training.data<double>()[n] = result.loss;
    training.data<double>()[steps + n] = result.gradient_norm;
  }
  return training;
}

// The table with a further axis in front, as a tensor.
Tensor stacked(const std::vector<ValueTable>& tables) {
  std::vector<double> numbers;
  for (const ValueTable& table : tables)
    for (const auto& row : table) numbers.insert(numbers.end(), row.begin(), row.end());
  auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  return Tensor::from<double>({count(tables), count(tables[0]), count(tables[0][0])}, numbers);
}

// Checks `actual` against the dataset `name` with tolerance 1e-9. Its shape may group the same elements differently.
void check_measure(const GoldenCase& golden, const std::string& name, const Tensor& actual) {
  Tensor expected = golden.expected(name);
  REQUIRE_MESSAGE(actual.size() == expected.size(), golden.name, ": ", name);
  check_close(golden.name + ": " + name, actual.reshape(expected.shape()), expected, 1e-9);
}

std::vector<ValueTable> with_axis(std::vector<ValueTable> tables, const std::vector<ValueTable>& more) {
  tables.insert(tables.end(), more.begin(), more.end());
  return tables;
}

}  // namespace

TEST_CASE("golden files: every ablation has a case, and every case an ablation") {
  std::set<std::string> cases, ablations;
  for_each_golden_case([&](const GoldenCase& golden) { cases.insert(golden.ablation); });
  for (const Ablation& ablation : repository_ablations()) ablations.insert(ablation.name);
  for (const std::string& name : ablations) CHECK_MESSAGE(cases.count(name) == 1, name, " has no case");
  for (const std::string& name : cases) CHECK_MESSAGE(ablations.count(name) == 1, name, " is no ablation");
  CHECK(GoldenCase::all().size() >= ablations.size() + static_cast<std::size_t>(ablations_left_out()));
}

TEST_CASE("golden model: logits, loss and every gradient in double equal PyTorch's to 1e-9") {
  for_each_golden_case([](const GoldenCase& golden) { check_model(golden, DType::F64, 1e-9); });
}

// How much more than other models: without fused multiply-adds (-Og) its gradients in f32 differ by 6e-5. Its capped
// scores are not shifted by the row maximum, so they are rounded at their full size; whether that is all is open.
double f32_factor(const GoldenCase& golden) { return golden.name == "gemma2" ? 10 : 1; }

TEST_CASE("golden model: the fast path in f32 agrees to 1e-5") {
  for_each_golden_case([](const GoldenCase& golden) { check_model(golden, DType::F32, 1e-5 * f32_factor(golden)); });
}

TEST_CASE("golden model: --reference in f32 agrees to 1e-5") {
  use_reference() = true;
  for_each_golden_case([](const GoldenCase& golden) { check_model(golden, DType::F32, 1e-5); });
  use_reference() = false;
}

TEST_CASE(
    "golden training: ten AdamW steps with clipping equal PyTorch's, in double to 1e-9, in f32 to 1e-4 and 1e-3") {
  // AdamW divides by the size of gradients, even of tiny ones, so rounding errors grow from step to step and differ
  // between compilers: 4e-4 after ten steps without fused multiply-adds at 64 elements per head (bias_k_d64).
  for_each_golden_case([](const GoldenCase& golden) {
    Tensor expected = golden.expected("training");
    check_close(golden.name + ": losses and gradient norms in f64", train(golden, DType::F64), expected, 1e-9);
    auto losses = [](const Tensor& training, std::int64_t steps) {
      return training.reshape({training.size()}).rows(0, steps);
    };
    Tensor f32 = train(golden, DType::F32);
    check_close(golden.name + ": first five losses in f32", losses(f32, 5), losses(expected, 5),
                1e-4 * f32_factor(golden));
    check_close(golden.name + ": losses in f32", losses(f32, 10), losses(expected, 10), 1e-3 * f32_factor(golden));
  });
}

TEST_CASE("golden measurements: sinks, row mass, entropy, norms and the split of q.k equal PyTorch's on full maps") {
  for_each_golden_case([](const GoldenCase& golden) {
    auto model = golden.model(DType::F64);
    Evaluation e = evaluate(*model, golden.batch(), /*batch=*/1, /*with_patterns=*/false);
    check_number(golden, "loss", e.loss, golden.expected("loss").item(), 1e-9);

    auto sinks = [](const SinkScores& scores) { return scores.sink_k_epsilon; };
    check_measure(golden, "measures/alpha", stacked(with_axis(e.raw.alpha_layer_head_k, e.proxy.alpha_layer_head_k)));
    check_measure(golden, "measures/sink", stacked({sinks(e.raw), sinks(e.proxy)}));
    CHECK_MESSAGE(e.raw.has_star() == golden.has("measures/extra_alpha"), golden.name);
    ValueTable no_extra(e.row_sum_layer_head.size(), std::vector<double>(e.row_sum_layer_head[0].size(), 0));
    ValueTable extra_sums = e.extra_key_weight_layer_head;  // sums over rows in the file
    if (extra_sums.empty()) extra_sums = no_extra;
    for (auto& row : extra_sums)
      for (double& mass : row) mass *= static_cast<double>(e.context);
    ValueTable extra_proxy_sums = no_extra;
    if (e.raw.has_star()) {
      check_measure(golden, "measures/extra_alpha",
                    stacked({e.raw.alpha_star_layer_head, e.proxy.alpha_star_layer_head}));
      auto star = [](const SinkScores& s) { return ValueTable{s.sink_star}; };
      check_measure(golden, "measures/extra_sink", stacked({star(e.raw), star(e.proxy)}));
      if (e.extra == Evaluation::Extra::key) {
        extra_proxy_sums = e.proxy.alpha_star_layer_head;
        for (auto& row : extra_proxy_sums)
          for (double& alpha : row) alpha = alpha * static_cast<double>(e.context + 1) - 1;
      }
    }
    check_measure(golden, "measures/per_head",
                  stacked({e.row_sum_layer_head, e.entropy_layer_head, extra_sums, extra_proxy_sums, e.first_key_dot,
                           e.first_key_norm_product, e.first_key_cosine, e.other_keys_dot, e.other_keys_norm_product,
                           e.other_keys_cosine}));
    check_measure(golden, "measures/hidden_norm", stacked({e.hidden_norm}));
    check_measure(golden, "measures/key_value_norm", stacked({e.key_norm, e.value_norm}));
    std::vector<double> ratio = e.massive_ratio;
    ratio.insert(ratio.end(), e.massive_ratio_before_norm.begin(), e.massive_ratio_before_norm.end());
    check_measure(golden, "measures/massive_ratio", stacked({{ratio}}));
    CHECK_MESSAGE(e.hidden_before_norm_norm.empty() != golden.has("measures/hidden_norm_before"), golden.name);
    if (!e.hidden_before_norm_norm.empty())
      check_measure(golden, "measures/hidden_norm_before", stacked({e.hidden_before_norm_norm}));
  });
}

TEST_CASE("golden maps: the last layer's weights on the first sequence equal PyTorch's") {
  int maps = 0;
  for_each_golden_case([&](const GoldenCase& golden) {
    if (!golden.has("attention_map")) return;
    ++maps;
    auto model = golden.model(DType::F64);
    Tensor expected = golden.expected("attention_map");  // H, T, extra key + T
    std::int64_t last = golden.size("layers") - 1;
    Evaluation::Patterns taken = capture_patterns(*model, golden.tokens.rows(0, 1), last, 0, /*all_heads=*/true);
    std::vector<ValueTable> heads;
    for (std::int64_t h = 0; h < expected.dim(0); ++h) {
      const Tensor& map = taken.weights[static_cast<std::size_t>(last * expected.dim(0) + h)];
      heads.emplace_back();
      for (std::int64_t i = 0; i < map.dim(0); ++i)
        heads.back().emplace_back(map.data<double>() + i * map.dim(1), map.data<double>() + (i + 1) * map.dim(1));
    }
    check_measure(golden, "attention_map", stacked(heads));
  });
  CHECK((ablations_left_out() > 0 ? maps > 0 : maps == 5));
}
