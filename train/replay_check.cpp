#include "train/replay_check.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "autograd/tape.h"
#include "engine/io/build_info.h"
#include "engine/io/sha256.h"
#include "engine/io/str_format.h"
#include "engine/threads.h"

namespace sink {
namespace {

// What a micro-batch gave: the loss, and the SHA-256 of each parameter's gradient (empty without one).
struct Result {
  double loss;
  std::vector<std::string> gradients;

  std::string packed() const {
    std::string bytes(reinterpret_cast<const char*>(&loss), sizeof loss);
    for (const std::string& gradient : gradients) bytes += gradient + '\n';
    return bytes;
  }
};

Result unpacked(const std::string& bytes) {
  Result result;
  std::memcpy(&result.loss, bytes.data(), sizeof result.loss);
  for (std::size_t begin = sizeof result.loss; begin < bytes.size();) {
    const std::size_t end = bytes.find('\n', begin);
    result.gradients.push_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

std::vector<std::string> hash_gradients(const ParameterArena& parameters) {
  std::vector<std::string> hashes(parameters.size());
  if (parameters.segments_with_gradient().empty()) return hashes;
  const Tensor gradients = parameters.gradients().to(Device::cpu);
  const auto* bytes = static_cast<const std::byte*>(gradients.raw());
  const auto size = static_cast<std::size_t>(size_of(gradients.dtype()));
  for (std::size_t n = 0; n < hashes.size(); ++n) {
    const Segment segment = parameters[n]->segment();  // without padding, which has no meaning
    Sha256 hash;
    hash.add(bytes + static_cast<std::size_t>(segment.begin) * size,
             static_cast<std::size_t>(segment.end - segment.begin) * size);
    hashes[n] = hash.hex();
  }
  return hashes;
}

// Of the first micro-batch that `rank` has in the next step, as in TrainingRun::load_batches.
Result compute(TrainingRun& run, int rank, ForwardHooks& hooks) {
  ParameterArena& parameters = run.model().parameters();
  const Batch batch = run.data().train_batch(run.state().step, rank, run.config().batch).to(parameters.device());
  Tape tape;
  Var loss = run.model().loss(batch, 1, {.hooks = &hooks, .gradient_checkpointing = run.config().recompute});
  tape.backward(loss);
  Result result{loss.value().to(Device::cpu).item(), hash_gradients(parameters)};
  run.optimizer().zero_grad();
  return result;
}

std::string difference(const ParameterArena& parameters, const Result& one, const Result& two) {
  if (std::memcmp(&one.loss, &two.loss, sizeof one.loss) != 0)
    return str_format("the loss is %.17g and %.17g", one.loss, two.loss);
  std::string first;
  int differing = 0;
  for (std::size_t n = 0; n < one.gradients.size(); ++n)
    if (one.gradients[n] != two.gradients.at(n) && differing++ == 0) first = parameters[n]->name();
  if (differing == 0) return "";
  return str_format("the gradients of %d of %zu parameters differ, the first is %s", differing, one.gradients.size(),
                    first.c_str());
}

// The rank whose micro-batch this one computes, too: the next one, where all compute alike, else itself.
int checked_rank(TrainingRun& run) {
  Communicator& ranks = run.ranks();
  const std::vector<std::string> kinds =
      ranks.exchange(build_commit() + ", " + cpu_name() + ", " + description_of(run.model().parameters().device()) +
                     ", threads: " + std::to_string(thread_count()));
  const bool alike = std::all_of(kinds.begin(), kinds.end(), [&](const std::string& kind) { return kind == kinds[0]; });
  return alike ? (ranks.rank() + 1) % ranks.size() : ranks.rank();
}

}  // namespace

std::optional<std::string> replay_difference(TrainingRun& run, ForwardHooks& second) {
  Communicator& ranks = run.ranks();
  const int checked = checked_rank(run);
  const Result own = compute(run, ranks.rank(), ForwardHooks::none()), of_checked = compute(run, checked, second);
  const Result known = unpacked(ranks.exchange(own.packed())[static_cast<std::size_t>(checked)]);

  std::string found = difference(run.model().parameters(), of_checked, known);
  if (!found.empty() && checked != ranks.rank()) found = str_format("ranks %d and %d: ", ranks.rank(), checked) + found;
  std::string all;
  for (const std::string& of_rank : ranks.exchange(found))
    if (!of_rank.empty()) all += (all.empty() ? "" : "; ") + of_rank;
  return all.empty() ? std::nullopt : std::optional(all);
}

void require_same_replay(TrainingRun& run) {
  const std::optional<std::string> difference = replay_difference(run);
  if (!difference) return;
  throw Error("before step " + std::to_string(run.state().step + 1) +
                  ", a micro-batch computed twice has other bits: " + *difference +
                  ". The processor or memory of a machine may be faulty; nothing was saved since the last checkpoint. "
                  "Continue from it elsewhere with --resume auto",
              Exit::device);
}

}  // namespace sink
