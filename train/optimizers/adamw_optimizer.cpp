#include "train/optimizers/adamw_optimizer.h"

namespace sink {

AdamwSettings adamw_settings(const RunConfig& config) {
  return {.beta1 = config.beta1,
          .beta2 = config.beta2,
          .epsilon = config.adam_epsilon,
          .weight_decay = 0,
          .clip = config.clip};
}

AdamwOptimizer::AdamwOptimizer(ParameterArena& parameters, const RunConfig& config)
    : Optimizer(parameters, config),
      settings_(adamw_settings(config)),
      ranges_(ranges_of([](const Parameter&) { return true; })),
      first_(zeros_like_masters()),
      second_(zeros_like_masters()) {}

void AdamwOptimizer::update(const Tensor& numbers) {
  for_each_with_gradient(ranges_, [&](const Range& range, Slices& of) {
    AdamwSettings settings = settings_;
    settings.weight_decay = range.weight_decay;
    Tensor m = first_.rows(range.segment.begin, range.segment.end);
    Tensor v = second_.rows(range.segment.begin, range.segment.end);
    adamw(settings, numbers, of.gradient, of.weights, m, v, of.copy);
  });
}

std::vector<OptimizerState> AdamwOptimizer::state() const {
  std::vector<OptimizerState> state;
  for (const auto& parameter : parameters()) {
    state.push_back({"first_moment/" + parameter->name(), ParameterArena::slice(first_, *parameter)});
    state.push_back({"second_moment/" + parameter->name(), ParameterArena::slice(second_, *parameter)});
  }
  return state;
}

}  // namespace sink
