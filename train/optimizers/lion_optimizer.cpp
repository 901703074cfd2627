#include "train/optimizers/lion_optimizer.h"

namespace sink {

LionOptimizer::LionOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
    : Optimizer(parameters, config, shards),
      settings_{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = 0, .clip = config.clip},
      ranges_(ranges_of([](const Parameter&) { return true; })),
      momentum_(zeros_like_masters()) {}

void LionOptimizer::update(const Tensor& step_scalars) {
  for_each_with_gradient(ranges_, [&](const Range& range, Slices& of) {
    LionSettings settings = settings_;
    settings.weight_decay = range.weight_decay;
    Tensor m = rows_of(momentum_, range);
    lion(settings, step_scalars, of.gradient, of.weights, m, of.copy);
  });
}

std::vector<OptimizerState> LionOptimizer::moments() const { return {{"momentum", momentum_}}; }

}  // namespace sink
