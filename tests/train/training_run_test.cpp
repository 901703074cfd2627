// The loop of training: what a step does to a run, when its observers are called, and how it ends.
#include "train/training_run.h"

#include <doctest/doctest.h>

#include <csignal>

#include "engine/stop_point.h"
#include "model/all_ablations.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"
#include "train/interrupt.h"

using namespace sink;

namespace {

RunConfig small_config(std::int64_t steps) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = 2;
  config.width = 16;
  config.feed_forward = 16;
  config.context = 16;
  config.batch = 2;
  config.steps = steps;
  config.eval_every = 3;
  config.eval_sequences = 2;
  config.checkpoint_every = 4;
  return config;
}

// Writes down who was called with what, in a list that several share.
struct Witness : TrainingObserver {
  std::string name;
  std::vector<std::string>& calls;
  int raise_after = 0;

  Witness(const std::string& name, std::vector<std::string>& calls) : name(name), calls(calls) {}
  void on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) override {
    CHECK(result.step == run.state().step);
    calls.push_back(name + std::to_string(result.step) + (result.skipped ? " skipped" : "") + (evaluation ? " e" : ""));
    if (result.step == raise_after) std::raise(SIGTERM);
  }
  void on_checkpoint(TrainingRun& run) override { calls.push_back(name + std::to_string(run.state().step) + " save"); }
};

}  // namespace

TEST_CASE("training run: observers see every step in their order, checkpoints before an evaluation that is due") {
  TrainingRun run(small_config(7), ablation_named("baseline"));
  std::vector<std::string> calls;
  Witness a("a", calls), b("b", calls);
  CHECK(run.train({&a, &b}) == TrainingRun::Ending::complete);
  const std::vector<std::string> expected{"a1 e", "b1 e", "a2",      "b2",      "a3 e", "b3 e",
                                          "a4",   "b4",   "a4 save", "b4 save", "a5",   "b5",
                                          "a6 e", "b6 e", "a7 save", "b7 save", "a7 e", "b7 e"};
  CHECK(calls == expected);
  CHECK(run.state().step == 7);
  CHECK(run.state().updates == 7);
  calls.clear();
  CHECK(run.train({&a}) == TrainingRun::Ending::complete);  // nothing is left to do
  CHECK(calls.empty());
}

TEST_CASE("training run: evaluations are left out but for the last with eval-every 0, and their checkpoints refused") {
  RunConfig config = small_config(3);
  config.eval_every = 0;
  TrainingRun run(config, ablation_named("baseline"));
  std::vector<std::string> calls;
  Witness a("a", calls);
  CHECK(run.train({&a}) == TrainingRun::Ending::complete);
  CHECK(calls == std::vector<std::string>{"a1", "a2", "a3 save", "a3 e"});
  config.run = "run";
  config.birth_checkpoints = 2;
  CHECK(
      contains(error_of([&] { require_consistent(config, ablation_named("baseline")); }), "--eval-every 0 makes none"));
}

TEST_CASE("training run: a signal ends it after the step and its checkpoint") {
  InterruptGuard listening;
  TrainingRun run(small_config(7), ablation_named("baseline"));
  std::vector<std::string> calls;
  Witness a("a", calls);
  a.raise_after = 2;
  CHECK(run.train({&a}) == TrainingRun::Ending::stopped);
  CHECK(calls == std::vector<std::string>{"a1 e", "a2", "a2 save"});
}

TEST_CASE("training run: skipped steps in a row end it, with a checkpoint") {
  RunConfig config = small_config(50);
  config.nan_patience = 3;
  config.checkpoint_every = 100;
  TrainingRun run(config, ablation_named("baseline"));
  run.step();
  run.model().parameters().masters().fill(NAN);
  std::vector<std::string> calls;
  Witness a("a", calls);
  CHECK(run.train({&a}) == TrainingRun::Ending::diverged);
  CHECK(calls == std::vector<std::string>{"a2 skipped", "a3 skipped e", "a4 skipped", "a4 save"});
  CHECK(run.state().step == 4);
  CHECK(run.state().updates == 1);
  CHECK(run.state().skipped_in_a_row == 3);
}

TEST_CASE("training run: the gradients of micro-batches are those of one batch") {
  RunConfig config = small_config(4);
  config.precision = "f64";
  config.accumulate = 2;
  TrainingRun run(config, ablation_named("baseline"));
  Batch first = run.data().train_batch(0, 0, 2), second = run.data().train_batch(0, 1, 2);
  auto joined = [](const Tensor& a, const Tensor& b) {
    Tensor both = Tensor::empty({4, a.dim(1)}, DType::I32);
    both.rows(0, 2).copy_from(a);
    both.rows(2, 4).copy_from(b);
    return both;
  };
  Batch both(joined(first.tokens_BT(), second.tokens_BT()), joined(first.targets_BT(), second.targets_BT()),
             first.vocabulary());
  double loss = run.add_gradients(both, 1).item();
  Tensor expected = run.model().parameters().gradients().clone();
  double norm = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) norm += expected.item(i) * expected.item(i);
  run.optimizer().zero_grad();

  double sum = run.add_gradients(first, 0.5).item() + run.add_gradients(second, 0.5).item();
  check_close("gradients", run.model().parameters().gradients(), expected, 1e-12);
  run.optimizer().zero_grad();
  StepResult result = run.step();
  CHECK(sum == doctest::Approx(loss).epsilon(1e-12));
  CHECK(result.loss == doctest::Approx(loss).epsilon(1e-12));
  CHECK(result.gradient_norm == doctest::Approx(std::sqrt(norm)).epsilon(1e-12));
}

TEST_CASE("training run: step n has the learning rate of step n, and plain SGD moves the weights by it") {
  RunConfig config = small_config(8);
  config.precision = "f64";
  config.optimizer = "sgd";
  config.momentum = config.weight_decay = config.clip = 0;
  config.schedule = "cosine";
  config.warmup = 3;
  config.learning_rate = 0.4;
  config.min_learning_rate = 0.1;
  // 0.4 n / 3, then 0.1 + 0.15 (1 + cos(pi (n - 3) / 5)).
  const double cos_36 = 0.80901699437494745, cos_72 = 0.30901699437494745;
  const std::vector<double> rates{0.4 / 3,
                                  0.8 / 3,
                                  0.4,
                                  0.1 + 0.15 * (1 + cos_36),
                                  0.1 + 0.15 * (1 + cos_72),
                                  0.1 + 0.15 * (1 - cos_72),
                                  0.1 + 0.15 * (1 - cos_36),
                                  0.1};
  TrainingRun run(config, ablation_named("baseline"));
  const ParameterArena& parameters = run.model().parameters();
  for (std::size_t n = 0; n < rates.size(); ++n) {
    CAPTURE(n);
    run.add_gradients(run.data().train_batch(static_cast<std::int64_t>(n), 0, config.batch), 1);
    Tensor expected = parameters.masters().clone();
    double change = 0;
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      expected.data<double>()[i] -= rates[n] * parameters.gradients().item(i);
      change = std::max(change, std::abs(rates[n] * parameters.gradients().item(i)));
    }
    run.optimizer().zero_grad();
    const StepResult result = run.step();
    CHECK(result.step == static_cast<std::int64_t>(n) + 1);
    CHECK(result.learning_rate == doctest::Approx(rates[n]).epsilon(1e-12));
    CHECK(change > 1e-3);
    check_close("weights", parameters.masters(), expected, 0, 1e-9 * change);
  }
}

namespace {

// Fixed micro-batches, whatever the step.
struct GivenBatches : DataSource {
  std::vector<Batch> batches;
  explicit GivenBatches(std::vector<Batch> batches) : batches(std::move(batches)) {}
  std::int64_t vocabulary() const override { return batches[0].vocabulary(); }
  Batch train_batch(std::int64_t, std::int64_t micro, std::int64_t) const override {
    return batches[static_cast<std::size_t>(micro)];
  }
  Batch validation_batch(std::int64_t, std::int64_t) const override { return batches[0]; }
  std::int64_t validation_sequences() const override { return batches[0].sequences(); }
  std::string token_text(std::int32_t) const override { return "x"; }
  std::int64_t train_tokens() const override { return 0; }
};

// 2 sequences of 16 tokens of which those targets count whose place is below `predicted`.
Batch partly_predicted(std::int32_t first, std::int32_t predicted) {
  std::vector<std::int32_t> tokens, targets;
  for (std::int32_t i = 0; i < 32; ++i) {
    tokens.push_back((first + i * 5) % 20);
    targets.push_back(i < predicted ? (first + i * 3) % 20 : -1);
  }
  return {Tensor::from({2, 16}, tokens), Tensor::from({2, 16}, targets), 20};
}

}  // namespace

TEST_CASE("training run: the loss is the mean over the targets of a step, however many each micro-batch has") {
  RunConfig config = small_config(4);
  config.precision = "f64";
  config.accumulate = 3;
  std::vector<Batch> batches{partly_predicted(1, 3), partly_predicted(2, 29), partly_predicted(3, 0)};
  TrainingRun run(config, ablation_named("baseline"), std::make_unique<GivenBatches>(batches));
  // 3 and 29 of 32 targets: their mean is that of each micro-batch in these parts.
  double loss = 0;
  std::vector<double> gradient(static_cast<std::size_t>(run.model().parameters().gradients().size()));
  for (std::size_t n = 0; n < 2; ++n) {
    const double part = n == 0 ? 3.0 / 32 : 29.0 / 32;
    loss += part * run.add_gradients(batches[n], 1).item();
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] += part * run.model().parameters().gradients().item(static_cast<std::int64_t>(i));
    run.optimizer().zero_grad();
  }
  double norm = 0;
  for (double g : gradient) norm += g * g;
  StepResult result = run.step();
  CHECK(result.loss == doctest::Approx(loss).epsilon(1e-12));
  CHECK(result.gradient_norm == doctest::Approx(std::sqrt(norm)).epsilon(1e-12));
  CHECK(run.evaluate().loss > 0);
}

namespace {

// Batches at which a signal comes.
struct SignalledBatches : GivenBatches {
  using GivenBatches::GivenBatches;
  std::int64_t in_step = -1;  // from 0, of training
  bool in_evaluation = false;
  Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const override {
    if (step == in_step) std::raise(SIGTERM);
    return GivenBatches::train_batch(step, micro, batch);
  }
  Batch validation_batch(std::int64_t first, std::int64_t batch) const override {
    if (in_evaluation) std::raise(SIGTERM);
    return GivenBatches::validation_batch(first, batch);
  }
};

}  // namespace

TEST_CASE(
    "training run: a signal ends an evaluation and a step in their middle; what is saved is the last whole step") {
  InterruptGuard listening;
  std::vector<std::string> calls;
  Witness a("a", calls);
  auto batches = std::make_unique<SignalledBatches>(std::vector<Batch>{partly_predicted(1, 32)});
  SignalledBatches& signals = *batches;
  SUBCASE("the first evaluation") {
    signals.in_evaluation = true;
    TrainingRun run(small_config(7), ablation_named("baseline"), std::move(batches));
    CHECK(run.train({&a}) == TrainingRun::Ending::stopped);
    CHECK(calls == std::vector<std::string>{"a1 save"});
    CHECK(run.stop_signal() == SIGTERM);
    REQUIRE(run.state().last);
    CHECK(run.state().last->step == 1);
  }
  SUBCASE("a step") {
    signals.in_step = 1;
    TrainingRun run(small_config(7), ablation_named("baseline"), std::move(batches));
    CHECK(run.train({&a}) == TrainingRun::Ending::stopped);
    CHECK(calls == std::vector<std::string>{"a1 e", "a1 save"});
    CHECK(run.state().step == 1);
  }
  SUBCASE("the first step, of which there is nothing to save") {
    signals.in_step = 0;
    TrainingRun run(small_config(7), ablation_named("baseline"), std::move(batches));
    CHECK(run.train({&a}) == TrainingRun::Ending::stopped);
    CHECK(calls.empty());
    CHECK(run.state().step == 0);
  }
}

TEST_CASE("training run: a step left between any two of its operations is repeated with the same bits") {
  struct Case {
    std::string optimizer, precision;
    bool recompute;
  };
  for (const auto& [optimizer, precision, recompute] :
       {Case{"adamw", "f32", false}, Case{"muon", "f32", false}, Case{"adamw", "bf16", true}}) {
    CAPTURE(optimizer);
    CAPTURE(precision);
    RunConfig config = small_config(3);
    config.optimizer = optimizer;
    config.precision = precision;
    config.recompute = recompute;
    config.accumulate = 2;
    config.eval_every = 3;
    TrainingRun whole(config, ablation_named("baseline"));
    std::int64_t points = 0;
    {
      const StopCheck count([&] { ++points; });
      REQUIRE(whole.train({}) == TrainingRun::Ending::complete);
    }
    std::int64_t left_inside = 0, tried = 0;
    for (std::int64_t point = 0; point < points; ++point) {
      if (!test::in_turn()) continue;
      ++tried;
      CAPTURE(point);
      TrainingRun run(config, ablation_named("baseline"));
      {
        InterruptGuard listening;
        std::int64_t passed = 0, passed_after = 0;
        const StopCheck signal([&] {
          passed_after += passed > point;
          if (passed++ == point) std::raise(SIGTERM);
        });
        if (run.train({}) == TrainingRun::Ending::stopped && run.state().step < 3) ++left_inside;
        // An update of muon multiplies matrices, too, and is not left.
        CHECK(passed_after <= (optimizer == "muon" ? 200 : 0));
      }
      REQUIRE(run.train({}) == TrainingRun::Ending::complete);
      check_close("weights", run.model().parameters().masters(), whole.model().parameters().masters(), 0);
      const std::vector<OptimizerState> found = run.optimizer().state(), expected = whole.optimizer().state();
      for (std::size_t n = 0; n < expected.size(); ++n)
        check_close(expected[n].name, found[n].values, expected[n].values, 0);
    }
    CHECK(left_inside > tried / 2);
  }
}

TEST_CASE("training run: a step in which nothing is predicted has no loss, gradient 0, and harms nothing") {
  for (const char* precision : {"f64", "f32", "bf16"}) {
    RunConfig config = small_config(4);
    config.precision = precision;
    std::vector<Batch> nothing{partly_predicted(1, 0)};
    TrainingRun run(config, ablation_named("baseline"), std::make_unique<GivenBatches>(nothing));
    StepResult result = run.step();
    CHECK(std::isnan(result.loss));
    CHECK(result.gradient_norm == 0);
    CHECK_FALSE(result.skipped);
    const Tensor& masters = run.model().parameters().masters();
    for (std::int64_t i = 0; i < masters.size(); ++i) CHECK(std::isfinite(masters.item(i)));
    Evaluation evaluation = run.evaluate();
    CHECK(std::isnan(evaluation.loss));
    CHECK(evaluation.proxy.alpha_1 > 0);
  }
}

TEST_CASE("training run: every parameter of every ablation receives a gradient in a step") {
  for (const Ablation& ablation : all_ablations()) {
    CAPTURE(ablation.name);
    RunConfig config = small_config(1);
    config.width = 128;  // bias_k_d64 learns 64 elements of a key
    TrainingRun run(config, ablation);
    run.add_gradients(run.data().train_batch(0, 0, 2), 1);
    const ParameterArena& parameters = run.model().parameters();
    CHECK(parameters.segments_with_gradient().size() == parameters.size());
    CHECK(parameters.spans_with_gradient().size() == 1);  // so that an update is one call
  }
}
