#include "train/optimizers/lion_optimizer.h"

namespace sink {

LionOptimizer::LionOptimizer(ParameterArena& parameters, const RunConfig& config)
    : Optimizer(parameters, config),
      settings_{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = 0, .clip = config.clip},
      ranges_(ranges_of([](const Parameter&) { return true; })),
      momentum_(zeros_like_masters()) {}

void LionOptimizer::update(const Tensor& numbers) {
  for_each_with_gradient(ranges_, [&](const Range& range, Slices& of) {
    LionSettings settings = settings_;
    settings.weight_decay = range.weight_decay;
    Tensor m = momentum_.rows(range.segment.begin, range.segment.end);
    lion(settings, numbers, of.gradient, of.weights, m, of.copy);
  });
}

std::vector<OptimizerState> LionOptimizer::state() const {
  std::vector<OptimizerState> state;
  for (const auto& parameter : parameters())
    state.push_back({"momentum/" + parameter->name(), ParameterArena::slice(momentum_, *parameter)});
  return state;
}

}  // namespace sink
