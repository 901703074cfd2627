// Asks the task itself, built again from the run's settings.
#include "tools/report/loss_floor.h"

#include <array>
#include <cstdlib>
#include <map>

#include "engine/check.h"
#include "engine/data/bigram_backcopy.h"

namespace sink::report {
namespace {

constexpr std::int64_t kLongest = 4096, kMostTokens = std::int64_t{1} << 24;  // what takes a second at most

std::int64_t whole(const Run& run, const char* name, std::int64_t otherwise) {
  const auto found = run.settings.find(name);
  return found == run.settings.end() ? otherwise : std::strtoll(found->second.c_str(), nullptr, 10);
}

}  // namespace

std::optional<LossFloor> loss_floor(const Run& run) {
  if (run.task != "bigram-backcopy" || run.settings.empty()) return std::nullopt;
  DataConfig config;
  config.seed = static_cast<decltype(config.seed)>(run.seed);
  const std::int64_t context = whole(run, "context", run.context);
  config.eval_sequences = whole(run, "eval-sequences", config.eval_sequences);
  if (context < 2 || context > kLongest || config.eval_sequences < 1 || config.eval_sequences > kMostTokens / context)
    return std::nullopt;
  // Runs of one seed share it.
  static std::map<std::array<std::int64_t, 3>, LossFloor> known;
  const auto [found, added] = known.try_emplace({static_cast<std::int64_t>(run.seed), context, config.eval_sequences});
  if (added) {
    const BigramBackcopy task(config, context);
    found->second = {task.entropy_floor(), task.best_loss(task.validation_batch(0, task.validation_sequences()))};
  }
  return found->second;
}

}  // namespace sink::report
