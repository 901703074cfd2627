// tools/one_file/sink.cpp is the engine: from the same settings its losses and weights are those of a training in
// double, by the reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "model/all_ablations.h"
#include "tests/support/keep_worst.h"
#include "train/trainer.h"
#include "train/training_run.h"

namespace one_file {
#define main sink_main
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // of main()
// The standard headers that it includes are above, so that the namespace holds nothing else.
#include "tools/one_file/sink.cpp"
#pragma GCC diagnostic pop
#undef main
}  // namespace one_file

using namespace sink;

namespace {

void check_like_engine(const one_file::Operation& op, const char* ablation) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = one_file::H;
  config.width = one_file::C;
  config.feed_forward = one_file::F;
  config.context = one_file::T;
  config.batch = one_file::B;
  config.steps = one_file::kSteps;
  config.warmup = one_file::kWarmup;
  config.learning_rate = one_file::kLearningRate;
  config.schedule = "cosine";
  config.beta2 = one_file::kBeta2;
  config.weight_decay = one_file::kWeightDecay;
  config.precision = "f64";
  config.reference = true;
  apply_compute_options(config);
  TrainingRun run(config, ablation_named(ablation));
  one_file::Model model{op};
  const one_file::Task task;
  for (int step = 1; step <= 10; ++step) {
    const double loss = run.step().loss;
    CHECK(one_file::train_step(model, task, step) == doctest::Approx(loss).epsilon(1e-12));
  }
  const auto& parameters = run.model().parameters();
  std::size_t n = 0;
  for (const auto& parameter : parameters) {
    REQUIRE(n < model.parameters.size());
    const std::vector<double>& ours = model.parameters[n++]->x;
    CAPTURE(parameter->name());
    const Tensor engine = parameter->master();
    REQUIRE(engine.size() == static_cast<std::int64_t>(ours.size()));
    double largest = 0;  // difference
    for (std::size_t i = 0; i < ours.size(); ++i) keep_worst(largest, std::abs(engine.data<double>()[i] - ours[i]));
    CHECK(largest < 1e-12);
  }
  CHECK(n == model.parameters.size());
  apply_compute_options(RunConfig());
}

}  // namespace

TEST_CASE("one file: ten losses and the weights after them are the engine's") {
  check_like_engine({"softmax", std::exp, std::exp, true}, "baseline");
  check_like_engine({"sigmoid", one_file::logistic, one_file::d_logistic, false}, "op_sigmoid_none");
}
