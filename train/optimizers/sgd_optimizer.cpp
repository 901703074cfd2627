#include "train/optimizers/sgd_optimizer.h"

#include "engine/ops/optimizer/momentum.h"
#include "engine/ops/optimizer/weight_step.h"

namespace sink {

SgdOptimizer::SgdOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
    : Optimizer(parameters, config, shards),
      momentum_(config.momentum),
      clip_(config.clip),
      ranges_(ranges_of([](const Parameter&) { return true; })),
      sum_(zeros_like_masters()) {}

void SgdOptimizer::update(const Tensor& step_scalars) {
  for_each_with_gradient(ranges_, [&](const Range& range, Slices& of) {
    Tensor m = rows_of(sum_, range), no_look_ahead;
    momentum({.momentum = momentum_, .clip = clip_}, step_scalars, of.gradient, m, no_look_ahead);
    weight_step({.weight_decay = range.weight_decay}, step_scalars, m, of.weights, of.copy);
  });
}

std::vector<OptimizerState> SgdOptimizer::moments() const { return {{"momentum", sum_}}; }

}  // namespace sink
