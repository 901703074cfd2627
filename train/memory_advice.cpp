#include "train/memory_advice.h"

#include <algorithm>
#include <string>

#include "autograd/tape.h"
#include "engine/storage.h"
#include "eval/what_fits.h"

namespace sink {
namespace {

struct Trial {
  std::int64_t batch, context;
  bool recompute;
};

// All that a run holds at once: a second micro-batch, whose gradients are added to the first one's, and an evaluation.
void attempt(TrainingRun& run, const Trial& trial) {
  LanguageModel& model = run.model();
  // For the few small tensors that a step has besides, and for what an allocator loses between its blocks.
  auto bytes_in_use = static_cast<std::int64_t>(allocator_stats(model.parameters().device()).bytes_in_use);
  Tensor spare = model.parameters().masters().new_empty({(bytes_in_use / 100 + (64 << 10)) / 4}, DType::F32);
  // Micro-batches that the run does not have yet are summed in their order, which takes a tensor
  // (train/distributed/data_parallel.cpp). Ranks on GPUs also receive the gradients of a bucket.
  Tensor sums, received;
  const RunConfig& config = run.config();
  const ParameterArena& parameters = model.parameters();
  const std::int64_t ranks = run.ranks().size();
  if (trial.batch < config.batch && config.accumulate == ranks && config.gradient_sum == "ordered")
    sums = parameters.masters().new_empty({parameters.padded_size() / ranks}, DType::F32);
  if (ranks > 1 && parameters.device() != Device::cpu)
    received =
        parameters.masters().new_empty({std::ranges::max(parameters.bucket_sizes(run.ranks().size()))}, DType::F32);
  Batch batch = run.data().train_batch(0, 0, trial.batch).first(trial.context);
  for (int micro = 0; micro < 2; ++micro) {
    Tape tape;
    tape.backward(model.loss(batch, 1, {.gradient_checkpointing = trial.recompute}));
  }
  run.optimizer().zero_grad();
  std::int64_t sequences = std::min({trial.batch, config.eval_sequences, run.data().validation_sequences()});
  evaluate(model, run.data().validation_batch(0, sequences).first(trial.context), sequences, /*with_patterns=*/true);
}

bool run_fits(TrainingRun& run, const Trial& trial) {
  bool enough = fits([&] { attempt(run, trial); });
  run.optimizer().zero_grad();
  return enough;
}

std::int64_t largest_batch(TrainingRun& run, std::int64_t below, bool recompute) {
  auto fits_at = [&](std::int64_t n) { return run_fits(run, {n, run.config().context, recompute}); };
  return largest_that_fits(below, fits_at);
}

// As many tokens per step in micro-batches of at most `most` sequences, of which every rank has as many.
std::string flags_for(const RunConfig& config, std::int64_t most, std::int64_t ranks) {
  std::int64_t sequences = config.batch * config.accumulate, batch = most;
  while (sequences % (batch * ranks) != 0) --batch;
  return "--batch " + std::to_string(batch) + " --accumulate " + std::to_string(sequences / batch) +
         " fits, with as many tokens per step" +
         (batch < most ? " (up to " + std::to_string(most) + " sequences fit)" : "");
}

std::string advice(TrainingRun& run) {
  const RunConfig& config = run.config();
  const std::int64_t ranks = run.ranks().size();
  if (std::int64_t most = largest_batch(run, config.batch, config.recompute); most > 0)
    return flags_for(config, most, ranks) + (!config.recompute && run_fits(run, {config.batch, config.context, true})
                                                 ? "; so does --gradient-checkpointing"
                                                 : "");
  std::string none = "Not even one sequence of " + std::to_string(config.context) + " tokens fits";
  if (!config.recompute)
    if (std::int64_t most = largest_batch(run, config.batch + 1, true); most > 0)
      return none + ", but --gradient-checkpointing " + flags_for(config, most, ranks);
  for (std::int64_t T = config.context / 2; T > config.prefix + 1; T /= 2)
    for (bool recompute : {config.recompute, true})
      if (run_fits(run, {1, T, recompute}))
        return none + "; " + (recompute && !config.recompute ? "--gradient-checkpointing " : "") + "--context " +
               std::to_string(T) + " --batch 1 does";
  return none + ", nor a shorter one; a smaller model needs less (--layers, --d-model, --feed-forward)";
}

}  // namespace

void fail_with_what_fits(TrainingRun& run, const OutOfMemory& error) {
  run.optimizer().zero_grad();
  throw Error(error.what() + (". " + advice(run)), error.code);
}

}  // namespace sink
