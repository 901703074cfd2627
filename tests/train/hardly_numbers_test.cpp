// What training does with values that are NaN, infinite, subnormal, zero or far too large, for every ablation and
// backend of the build. A step is taken or skipped, and one that is skipped changes no bit of the run. Parameters and
// optimizer state that are not finite are never saved.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "model/all_ablations.h"
#include "tests/support/files.h"
#include "tests/support/in_turn.h"
#include "train/resume.h"
#include "train/trainer.h"
#include "train/training_run.h"

using namespace sink;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

// On any device: reads all values, changes them, writes them back.
void change_values(Tensor tensor, const std::function<void(float* values, std::int64_t count)>& change) {
  Tensor on_host = tensor.to(Device::cpu).to(DType::F32);
  change(on_host.data<float>(), on_host.size());
  tensor.copy_from(on_host.to(tensor.dtype()).to(tensor.device()));
}

void fill_weights(TrainingRun& run, float value) {
  for (const auto& parameter : run.model().parameters())
    change_values(parameter->mutable_master(), [&](float* w, std::int64_t n) { std::fill(w, w + n, value); });
}

// The gain of the last norm, which all later values of every token depend on.
void spoil_a_weight(TrainingRun& run, float value) {
  Parameter* last = nullptr;
  for (const auto& parameter : run.model().parameters())
    if (parameter->name().ends_with("norm.gain")) last = parameter.get();
  REQUIRE(last);
  change_values(last->mutable_master(), [&](float* w, std::int64_t) { w[0] = value; });
}

void spoil_state(TrainingRun& run, const std::string& name, float value) {
  for (OptimizerState& state : run.optimizer().state())
    if (state.name.starts_with(name)) return change_values(state.values, [&](float* w, std::int64_t) { w[0] = value; });
  FAIL("there is no " << name);
}

enum class Step { taken, skipped, any };

struct Case {
  std::string name;
  Step step;
  bool can_be_saved;  // afterwards; only told if all steps are `taken` or `skipped`
  double learning_rate = 1e-3;
  std::function<void(TrainingRun&)> change = [](TrainingRun&) {};
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"a weight is NaN", Step::skipped, false, 1e-3, [](TrainingRun& run) { spoil_a_weight(run, kNaN); }},
      {"a weight is infinite", Step::skipped, false, 1e-3, [](TrainingRun& run) { spoil_a_weight(run, kInfinity); }},
      {"every weight is zero", Step::taken, true, 1e-3, [](TrainingRun& run) { fill_weights(run, 0); }},
      {"every weight is subnormal", Step::taken, true, 1e-3, [](TrainingRun& run) { fill_weights(run, 1e-40f); }},
      {"every weight is 1e30", Step::any, true, 1e-3, [](TrainingRun& run) { fill_weights(run, 1e30f); }},
      {"the learning rate is zero", Step::taken, true, 0},
      {"the learning rate is 1e30", Step::any, true, 1e30},
      {"a first moment is infinite", Step::any, false, 1e-3,
       [](TrainingRun& run) { spoil_state(run, "first_moment", kInfinity); }},
      {"a second moment is infinite", Step::taken, false, 1e-3,
       [](TrainingRun& run) { spoil_state(run, "second_moment", kInfinity); }},
      {"a second moment is NaN", Step::any, false, 1e-3,
       [](TrainingRun& run) { spoil_state(run, "second_moment", kNaN); }},
  };
  return all;
}

RunConfig tiny_config(const char* precision, bool reference, const char* device, double learning_rate) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 1;
  config.heads = 1;
  config.width = 64;  // some ablations learn 64 elements of a key
  config.feed_forward = 32;
  config.context = 8;
  config.batch = 2;
  config.warmup = 0;
  config.precision = precision;
  config.reference = reference;
  config.device = device;
  config.learning_rate = learning_rate;
  return config;
}

// All bits of the run that a step may change.
std::vector<std::byte> bits_of(TrainingRun& run) {
  std::vector<std::byte> bits;
  const auto add = [&](const Tensor& tensor) {
    const Tensor on_host = tensor.to(Device::cpu);
    const auto* bytes = static_cast<const std::byte*>(on_host.raw());
    bits.insert(bits.end(), bytes, bytes + on_host.bytes());
  };
  for (const auto& parameter : run.model().parameters()) add(parameter->master());
  for (const OptimizerState& state : run.optimizer().state()) add(state.values);
  return bits;
}

bool are_finite(TrainingRun& run) {
  bool finite = true;
  const auto check = [&](const Tensor& tensor) {
    const Tensor values = tensor.to(Device::cpu).to(DType::F64);
    for (std::int64_t i = 0; i < values.size(); ++i) finite = finite && std::isfinite(values.item(i));
  };
  for (const auto& parameter : run.model().parameters()) check(parameter->master());
  for (const OptimizerState& state : run.optimizer().state()) check(state.values);
  return finite;
}

// Whether the run can be saved and read back; it must be refused as diverged otherwise, without a file.
bool can_be_saved(TrainingRun& run, const std::string& path) {
  try {
    save_run(path, run);
  } catch (const Error& error) {
    CHECK(error.code == Exit::diverged);
    CHECK_FALSE(std::filesystem::exists(path));
    return false;
  }
  CHECK_NOTHROW(load_checkpoint(path));
  std::filesystem::remove(path);
  return true;
}

void check_case(const Case& test, const Ablation& ablation, const RunConfig& config, const std::string& file) {
  TrainingRun run(config, ablation);
  REQUIRE((run.step().skipped == false || test.learning_rate > 1));  // so that the optimizer has moments
  test.change(run);
  for (int step = 0; step < 2; ++step) {
    const std::vector<std::byte> before = bits_of(run);
    const StepResult result = run.step();
    const bool finite = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
    CHECK(result.skipped != finite);
    if (result.skipped) CHECK(bits_of(run) == before);
    if (test.step != Step::any) CHECK(result.skipped == (test.step == Step::skipped));
  }
  const bool finite = are_finite(run);
  if (test.step != Step::any) CHECK(finite == test.can_be_saved);
  if (!file.empty()) CHECK(can_be_saved(run, file) == finite);
}

// `file`: where runs are saved; empty: they are not, as it does not depend on the backend.
void check_every_ablation(const char* precision, bool reference, const char* device, const std::string& file = "",
                          const std::vector<Case>& some = cases()) {
  apply_compute_options(tiny_config(precision, reference, device, 1e-3));
  for (const Ablation& ablation : all_ablations()) {
    for (const Case& test : some) {
      if (!test::in_turn()) continue;
      CAPTURE(ablation.name);
      CAPTURE(test.name);
      check_case(test, ablation, tiny_config(precision, reference, device, test.learning_rate), file);
    }
  }
  apply_compute_options(RunConfig());
}

}  // namespace

TEST_CASE("hardly numbers: every ablation, fast path in f32") {
  const TemporaryFolder folder;
  check_every_ablation("f32", false, "cpu", folder / "run.h5");
}
TEST_CASE("hardly numbers: every ablation, fast path in bf16") { check_every_ablation("bf16", false, "cpu"); }
TEST_CASE("hardly numbers: every ablation, reference") { check_every_ablation("f64", true, "cpu"); }

#ifdef SINK_CUDA
// The emulated device is slow: the cases in which kernels read what is not finite.
TEST_CASE("hardly numbers: every ablation, device") {
  std::vector<Case> some = cases();
  std::erase_if(some, [](const Case& test) {
    return test.name != "a weight is NaN" && test.name != "every weight is 1e30" && test.name != "every weight is zero";
  });
  REQUIRE(some.size() == 3);
  check_every_ablation("bf16", false, "cuda", "", some);
}
#endif
