#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sink {

double learning_rate_at(const RunConfig& config, std::int64_t step) {
  bool by_micro_batches = config.schedule_counts == "micro-batches";
  double position = static_cast<double>(step) - (by_micro_batches ? 1 / static_cast<double>(config.accumulate) : 0);
  double warmup = static_cast<double>(config.warmup);
  if (position < warmup) return config.learning_rate * position / warmup;
  if (config.schedule == "constant") return config.learning_rate;
  double span = static_cast<double>(std::max<std::int64_t>(1, config.steps - config.warmup));
  double progress = std::min(1.0, (position - warmup) / span);
  double weight = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return config.min_learning_rate + weight * (config.learning_rate - config.min_learning_rate);
}

}  // namespace sink
