// Every optimiser against an independent float64 program (tests/golden/optimizer/make_optimizer_golden.py): losses,
// gradient norms and weights of ten steps, in double, by the plain loops in F32, by what trains, and on the device.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "engine/implementation.h"
#include "tests/golden/model/golden_case.h"
#include "train/optimizers/optimizers.h"
#include "train/run_config_table.h"

using namespace sink;

namespace {

class OptimizerGolden {
 public:
  OptimizerGolden() : file("optimizer/optimizers.safetensors") {
    std::istringstream lines(file.text("settings"));
    std::string optimizer, name, value;
    while (lines >> optimizer >> name >> value) settings_[optimizer][name] = value;
  }

  RunConfig config(const GoldenCase& golden, DType type, const std::string& optimizer, const std::string& decay) const {
    RunConfig config = golden_config(golden, type);
    config.optimizer = optimizer;
    config.decay = decay;
    for (const auto& [name, value] : settings_.at(optimizer))
      setting_named(run_config_table(), name)->set(config, value, "golden");
    return config;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, settings] : settings_) names.push_back(name);
    return names;
  }

  const ExpectedValues file;

 private:
  std::map<std::string, std::map<std::string, std::string>> settings_;
};

// The losses and gradient norms of a run's next ten steps: (2, 10).
Tensor ten_steps(TrainingRun& run) {
  Tensor training = Tensor::empty({2, 10}, DType::F64);
  for (std::int64_t n = 0; n < 10; ++n) {
    StepResult result = run.step();
    training.data<double>()[n] = result.loss;
    training.data<double>()[10 + n] = result.gradient_norm;
  }
  return training;
}

// f(golden, config, folder in the file) for every case and optimiser, by each of the decays.
template <class F>
void for_each_training(DType type, const std::vector<std::string>& decays, F&& f) {
  OptimizerGolden optimizers;
  for (std::string name : {"baseline", "bias_kv"}) {
    if (!test::is_built(name)) continue;
    GoldenCase golden(name);
    for (const std::string& optimizer : optimizers.names())
      for (const std::string& decay : decays) {
        CAPTURE(optimizer);
        CAPTURE(decay);
        std::string folder = name + "/" + optimizer + "-" + decay + "/";
        f(golden, optimizers.config(golden, type, optimizer, decay), optimizers.file, folder);
      }
  }
}

std::unique_ptr<TrainingRun> made_run(const GoldenCase& golden, const RunConfig& config) {
  auto run = std::make_unique<TrainingRun>(config, ablation_named(golden.ablation),
                                           std::make_unique<OneBatch>(golden.batch()));
  golden.set_initial_values(run->model());
  return run;
}

// Within `relative` of the losses and the weights of the file.
void check_f32(double losses, double weights, const std::string& device = "cpu") {
  for_each_training(DType::F32, {"matrices"},
                    [&](const GoldenCase& golden, RunConfig config, const ExpectedValues& file, const std::string& folder) {
                      config.device = device;
                      auto run = made_run(golden, config);
                      Tensor training = ten_steps(*run), expected = file.tensor(folder + "training");
                      check_close(folder + "losses", training.rows(0, 1), expected.rows(0, 1), losses);
                      std::int64_t first = 0;
                      Tensor expected_weights = file.tensor(folder + "weights");
                      for (const GoldenParameter& parameter : golden.parameters)
                        for (const auto& p : run->model().parameters())
                          if (p->name() == parameter.name)
                            golden.check_summary(parameter.name, p->master().to(Device::cpu), expected_weights, first,
                                                 weights);
                    });
}

}  // namespace

TEST_CASE("optimizers: ten steps in double have the losses, gradient norms and weights of an independent program") {
  int trainings = 0;
  for_each_training(
      DType::F64, {"all", "matrices"},
      [&](const GoldenCase& golden, const RunConfig& config, const ExpectedValues& file, const std::string& folder) {
        ++trainings;
        auto run = made_run(golden, config);
        check_close(folder + "training", ten_steps(*run), file.tensor(folder + "training"), 1e-9);
        std::int64_t first = 0;
        Tensor expected = file.tensor(folder + "weights");
        for (const GoldenParameter& parameter : golden.parameters)
          for (const auto& p : run->model().parameters())
            if (p->name() == parameter.name) golden.check_summary(parameter.name, p->master(), expected, first, 1e-8);
        CHECK(first == expected.size());
      });
  CHECK(trainings >= 10);
}

TEST_CASE("optimizers: each is in the file of the independent program, or has a test of its own") {
  const std::vector<std::string> names = OptimizerGolden().names();
  for (const OptimizerKind& kind : optimizer_kinds()) {
    const std::string own = "/tests/train/optimizers/" + kind.name + "_optimizer_test.cpp";
    CHECK_MESSAGE((std::find(names.begin(), names.end(), kind.name) != names.end() ||
                   std::filesystem::exists(SINK_SOURCE_DIR + own)),
                  kind.name, " is not in optimizers.safetensors, and there is no ", own);
  }
}

TEST_CASE("optimizers: ten steps of what trains, in f32, are near them") { check_f32(2e-5, 2e-3); }

TEST_CASE("optimizers: ten steps of the plain loops in f32 are near them") {
  use_reference() = true;
  check_f32(2e-5, 2e-3);
  use_reference() = false;
}

#ifdef SINK_CUDA
TEST_CASE("optimizers: ten steps on the device, most of them recorded, are near them") {
  check_f32(2e-5, 2e-3, "cuda");
}
#endif
