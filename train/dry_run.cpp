#include "train/dry_run.h"

#include <chrono>
#include <cstdio>

#include "autograd/tape.h"
#include "engine/storage.h"
#include "engine/threads.h"
#include "train/progress.h"

namespace sink {
namespace {

double mib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// Seconds of one micro-batch, forward and backward; the first one, which warms up, is not counted.
double seconds_per_micro_batch(const RunConfig& config, LanguageModel& model, const DataSource& data) {
  double seconds = 0;
  for (int round = 0; round < 2; ++round) {
    auto start = std::chrono::steady_clock::now();
    Batch batch = data.train_batch(0, 0, config.batch);
    Tape tape;
    tape.backward(model.loss(batch.tokens_BT, batch.targets_BT));
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return seconds;
}

}  // namespace

int print_dry_run(const RunConfig& config, const Ablation& ablation, LanguageModel& model, const DataSource& data) {
  std::int64_t tokens = config.tokens_per_step();
  double seconds = seconds_per_micro_batch(config, model, data) * static_cast<double>(config.accumulate);
  double flops = model.training_flops(tokens, config.context);
  AllocatorStats memory = allocator_stats();
  std::printf("ablation         %s (%s)\n", ablation.name.c_str(), ablation.policies.c_str());
  std::printf("parameters       %lld\n", static_cast<long long>(model.parameter_count()));
  for (const auto& parameter : model.parameters())
    std::printf("  %-44s %s\n", parameter->name().c_str(), parameter->master().shape().str().c_str());
  std::printf("tokens a step    %lld (%lld sequences of %lld)\n", static_cast<long long>(tokens),
              static_cast<long long>(config.batch * config.accumulate), static_cast<long long>(config.context));
  std::printf("steps            %lld, %.4g tokens in all", static_cast<long long>(config.steps),
              static_cast<double>(config.steps * tokens));
  if (data.train_tokens() > 0)
    std::printf(", %.2f passes over %.4g tokens of data",
                static_cast<double>(config.steps * tokens) / static_cast<double>(data.train_tokens()),
                static_cast<double>(data.train_tokens()));
  std::printf("\nFLOPs            %.4g a step, %.4g in all\n", flops, flops * static_cast<double>(config.steps));
  std::printf("memory           %.1f MiB at the peak of a step, weights and optimiser included\n",
              mib(memory.peak_bytes_in_use));
  std::printf("measured here    %.1f ms a step on %d threads (%.4g FLOP/s), so about %s for the run\n", seconds * 1e3,
              thread_count(), flops / seconds, duration(seconds * static_cast<double>(config.steps)).c_str());
  return 0;
}

}  // namespace sink
