#include "train/optimizers/ortho_adam_optimizer.h"

#include "engine/ops/optimizer/weight_step.h"
#include "train/optimizers/adamw_optimizer.h"

namespace sink {

OrthoAdamOptimizer::OrthoAdamOptimizer(ParameterArena& parameters, const RunConfig& config)
    : Optimizer(parameters, config, ParameterShards(parameters)),
      settings_(adamw_settings(config)),
      first_(zeros_like_masters()),
      second_(zeros_like_masters()) {
  for (const auto& parameter : parameters)
    rotations_.emplace_back(*parameter, config.seed, first_.dtype(), first_.device());
}

void OrthoAdamOptimizer::update(const Tensor& step_scalars) {
  for (std::size_t n = 0; n < rotations_.size(); ++n) {
    const Parameter& parameter = *parameters()[n];
    if (parameter.var().grad().defined()) update_parameter(parameter, rotations_[n], step_scalars);
  }
}

// An update of zeros without decay is -learning_rate s'.
void OrthoAdamOptimizer::update_parameter(const Parameter& parameter, const RandomRotation& rotation,
                                          const Tensor& step_scalars) {
  Slices of = slices_of(parameter);
  Tensor m = ParameterArena::slice(first_, parameter), v = ParameterArena::slice(second_, parameter);
  Tensor step = m.new_zeros(m.shape(), m.dtype());
  adamw(settings_, step_scalars, rotation.rotate(of.gradient), step, m, v);
  weight_step({.weight_decay = weight_decay_of(parameter), .scale = -1, .by_learning_rate = false}, step_scalars,
              rotation.rotate_back(step), of.weights, of.copy);
}

std::vector<OptimizerState> OrthoAdamOptimizer::state() const {
  std::vector<OptimizerState> state;
  for (const auto& parameter : parameters()) {
    state.push_back({"rotated_first_moment/" + parameter->name(), ParameterArena::slice(first_, *parameter)});
    state.push_back({"rotated_second_moment/" + parameter->name(), ParameterArena::slice(second_, *parameter)});
  }
  return state;
}

}  // namespace sink
