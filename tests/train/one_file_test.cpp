// tools/one_file/sink.cpp, and what its page adds to it, are the engine: from the same settings their losses and
// weights are those of a training in double, by the reference.
#include "tests/support/one_file.h"

#include <doctest/doctest.h>

#include "model/all_ablations.h"
#include "tests/support/built_ablations.h"
#include "tests/support/in_turn.h"
#include "tests/support/keep_worst.h"
#include "train/trainer.h"
#include "train/training_run.h"

using namespace sink;

namespace {

template <class Model>
void check_like_engine(Model& model, const char* ablation, int steps) {
  CAPTURE(std::string(ablation));
  if (!test::is_built(ablation)) return;
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
  const one_file::Task task;
  for (int step = 1; step <= steps; ++step) {
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
  const int steps = test::is_short() ? 4 : 10;
  one_file::Model softmax{{"softmax", std::exp, std::exp, true}};
  check_like_engine(softmax, "baseline", steps);
  one_file::Model sigmoid{{"sigmoid", one_file::logistic, one_file::d_logistic, false}};
  check_like_engine(sigmoid, "op_sigmoid_none", steps);
}

TEST_CASE("one file: so are those of every operation of its page, of the extra key and of the gate") {
  std::size_t n = 0;
  for (const char* ablation :
       {"baseline", "op_sigmoid_none", "op_sigmoid_norm", "op_softmax1", "op_relu", "op_elu_none"}) {
    one_file::Design design(one_file::kOperations[n++], false, false);
    if (test::in_turn()) check_like_engine(design, ablation, 3);
  }
  CHECK(n == std::size(one_file::kOperations));
  one_file::Design extra(one_file::kOperations[0], true, false), gate(one_file::kOperations[0], false, true);
  check_like_engine(extra, "bias_k", 3);
  check_like_engine(gate, "gate_head", 3);
}
