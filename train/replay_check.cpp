#include "train/replay_check.h"

#include <cstring>

#include "autograd/tape.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

struct Pass {
  Tensor loss, gradients;  // on the host
};

Pass compute(TrainingRun& run, ForwardHooks& hooks) {
  const std::int64_t micro = run.ranks().rank();  // as in TrainingRun::load_batches
  ParameterArena& parameters = run.model().parameters();
  const Batch batch = run.data().train_batch(run.state().step, micro, run.config().batch).to(parameters.device());
  Tape tape;
  Var loss = run.model().loss(batch, 1, {.hooks = &hooks, .gradient_checkpointing = run.config().recompute});
  tape.backward(loss);
  Pass pass{loss.value().to(Device::cpu).clone(), Tensor()};
  if (!parameters.segments_with_gradient().empty()) pass.gradients = parameters.gradients().to(Device::cpu).clone();
  run.optimizer().skip();  // drops the gradients
  return pass;
}

bool has_same_bits(const Tensor& a, const Tensor& b) { return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0; }

std::optional<std::string> gradient_difference(const ParameterArena& parameters, const Pass& one, const Pass& two) {
  const auto size = static_cast<std::size_t>(size_of(one.gradients.dtype()));
  const auto* a = static_cast<const std::byte*>(one.gradients.raw());
  const auto* b = static_cast<const std::byte*>(two.gradients.raw());
  std::int64_t differing = 0;
  std::string first;
  for (const auto& parameter : parameters) {
    const Segment segment = parameter->segment();  // padding has no meaning
    for (std::int64_t i = segment.begin; i < segment.end; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * size;
      if (std::memcmp(a + at, b + at, size) == 0) continue;
      if (differing++ == 0) first = parameter->name();
    }
  }
  if (differing == 0) return std::nullopt;
  return std::to_string(differing) + " of " + std::to_string(parameters.count()) +
         " gradient elements differ, the first in " + first;
}

}  // namespace

std::optional<std::string> replay_difference(TrainingRun& run, ForwardHooks& second) {
  const Pass one = compute(run, ForwardHooks::none()), two = compute(run, second);
  if (!has_same_bits(one.loss, two.loss))
    return str_format("the loss is %.9g and %.9g", one.loss.item(), two.loss.item());
  return one.gradients.defined() ? gradient_difference(run.model().parameters(), one, two) : std::nullopt;
}

void require_same_replay(TrainingRun& run, DistributedStrategy& strategy) {
  const std::optional<std::string> difference = replay_difference(run);
  if (!strategy.any(difference.has_value())) return;
  throw Error(
      "before step " + std::to_string(run.state().step + 1) + ", " +
          (difference ? "a micro-batch computed twice has other bits: " + *difference
                      : std::string("another rank computed a micro-batch twice and got other bits")) +
          ". The processor or memory of this machine may be faulty; nothing was saved since the last checkpoint. "
          "Continue from it elsewhere with --resume auto",
      Exit::device);
}

}  // namespace sink
