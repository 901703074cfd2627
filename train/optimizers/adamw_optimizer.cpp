#include "train/optimizers/adamw_optimizer.h"

namespace sink {

AdamwSettings adamw_settings(const RunConfig& config) {
  return {.beta1 = config.beta1,
          .beta2 = config.beta2,
          .epsilon = config.adam_epsilon,
          .weight_decay = 0,
          .clip = config.clip};
}

AdamwOptimizer::AdamwOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
    : Optimizer(parameters, config, shards),
      settings_(adamw_settings(config)),
      ranges_(ranges_of([](const Parameter&) { return true; })),
      first_(zeros_like_masters()),
      second_(zeros_like_masters()) {}

void AdamwOptimizer::update(const Tensor& step_scalars) {
  for_each_with_gradient(ranges_, [&](const Range& range, Slices& of) {
    AdamwSettings settings = settings_;
    settings.weight_decay = range.weight_decay;
    Tensor m = rows_of(first_, range);
    Tensor v = rows_of(second_, range);
    adamw(settings, step_scalars, of.gradient, of.weights, m, v, of.copy);
  });
}

std::vector<OptimizerState> AdamwOptimizer::moments() const {
  return {{"first_moment", first_}, {"second_moment", second_}};
}

}  // namespace sink
