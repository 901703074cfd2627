#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sink {

double learning_rate_at(const RunConfig& config, std::int64_t step) {
  if (step < config.warmup)
    return config.learning_rate * static_cast<double>(step) / static_cast<double>(config.warmup);
  if (config.schedule == "constant") return config.learning_rate;
  double span = static_cast<double>(std::max<std::int64_t>(1, config.steps - config.warmup));
  double progress = std::min(1.0, static_cast<double>(step - config.warmup) / span);
  double weight = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return config.min_learning_rate + weight * (config.learning_rate - config.min_learning_rate);
}

}  // namespace sink
