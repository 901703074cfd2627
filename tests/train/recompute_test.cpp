// --recompute: the same bits as without, in less memory, for every ablation.
#include <doctest/doctest.h>

#include <cstring>

#include "engine/storage.h"
#include "model/all_ablations.h"
#include "tests/support/files.h"
#include "tests/support/in_turn.h"
#include "train/resume.h"
#include "train/training_run.h"

using namespace sink;

namespace {

RunConfig tiny_config(const Ablation& ablation, bool recompute) {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = 3;
  bool wide = ablation.name.starts_with("bias_k_d");  // its key needs a head as wide
  config.heads = wide ? 1 : 4;
  config.width = wide ? 64 : 32;
  config.feed_forward = 48;
  config.context = 21;
  config.batch = 2;
  config.accumulate = 2;
  config.warmup = 0;
  config.recompute = recompute;
  return config;
}

const std::vector<Device> kDevices{
    Device::cpu,
#ifdef SINK_CUDA
    Device::cuda,
#endif
};

bool same_bits(const Tensor& a, const Tensor& b) { return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0; }

}  // namespace

// First, as the peak of a process never falls.
TEST_CASE("recompute: what a step holds at its peak grows by little with the layers") {
  const Ablation& ablation = ablation_named("baseline");
  for (Device device : kDevices) {
    auto peak_of_step = [&](bool recompute) {
      RunConfig config = tiny_config(ablation, recompute);
      config.device = name_of(device);
      config.layers = 8, config.feed_forward = 128, config.context = device == Device::cpu ? 128 : 16;
      TrainingRun run(config, ablation);
      std::size_t held = allocator_stats(device).bytes_in_use;
      run.step();
      return static_cast<double>(allocator_stats(device).peak_bytes_in_use - held) / (1 << 20);
    };
    double again = peak_of_step(true), kept = peak_of_step(false);
    MESSAGE("at the peak of a step on ", std::string(name_of(device)), ", MiB: ", again, " with --recompute, ", kept,
            " without");
    CHECK(again < 0.35 * kept);
  }
}

TEST_CASE("recompute: every ablation trains with the same bits") {
  for (const Ablation& ablation : all_ablations())
    for (std::string precision : {"f32", "bf16"}) {
      if (!test::in_turn()) continue;
      CAPTURE(ablation.name);
      CAPTURE(precision);
      RunConfig with = tiny_config(ablation, true), without = tiny_config(ablation, false);
      with.precision = without.precision = precision;
      TrainingRun kept(without, ablation), again(with, ablation);
      for (int step = 0; step < 2; ++step) CHECK(kept.step().loss == again.step().loss);
      CHECK(same_bits(kept.model().parameters().masters(), again.model().parameters().masters()));
    }
}

TEST_CASE("recompute: a run goes on with it that began without, bit by bit") {
  TemporaryFolder folder;
  const Ablation& ablation = ablation_named("bias_kv");
  TrainingRun kept(tiny_config(ablation, false), ablation), again(tiny_config(ablation, true), ablation);
  kept.step();
  save_run(folder / "begun.h5", kept);
  resume(folder / "begun.h5", again);
  kept.step(), again.step();
  CHECK(same_bits(kept.model().parameters().masters(), again.model().parameters().masters()));
}
