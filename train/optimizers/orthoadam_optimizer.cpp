// OrthoAdam (Kaul et al. 2024, "From Attention to Activation", 2410.17174, algorithm 1): Adam in randomly rotated
// coordinates, so that no coordinate of the model's own basis is scaled by itself. For a parameter W with clipped
// gradient G and its fixed rotation R (train/optimizers/random_rotation.h),
//   G' = R(G)
//   m, v: running means of G' and G'^2
//   s' = m^ / (sqrt(v^) + epsilon)                                (as in engine/ops/optimizer/adamw.h)
//   W = W (1 - learning_rate weight_decay) - learning_rate R^-1(s')
// The paper uses one orthogonal matrix per parameter as one long vector, which is too large for any memory. Here, as in
// other implementations, it is a product of one matrix per axis, in blocks (random_rotation.h). A permutation with
// signs would change nothing, because Adam is the same in such coordinates.
// State: rotated_first_moment (m), rotated_second_moment (v). The rotations follow from seed and name.
#include "engine/ops/optimizer/adamw.h"
#include "engine/ops/optimizer/weight_step.h"
#include "train/optimizer.h"
#include "train/optimizers/optimizers.h"
#include "train/optimizers/random_rotation.h"

namespace sink {
namespace {

class OrthoAdamOptimizer : public Optimizer {
 public:
  OrthoAdamOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
      : Optimizer(parameters, config, shards),
        settings_(adamw_settings(config)),
        first_(zeros_like_masters()),
        second_(zeros_like_masters()) {
    for (const auto& parameter : parameters)
      rotations_.emplace_back(*parameter, config.seed, first_.dtype(), first_.device());
  }

  std::vector<OptimizerState> state() const override {
    std::vector<OptimizerState> state;
    for (const auto& parameter : parameters()) {
      state.push_back({"rotated_first_moment/" + parameter->name(), ParameterArena::slice(first_, *parameter)});
      state.push_back({"rotated_second_moment/" + parameter->name(), ParameterArena::slice(second_, *parameter)});
    }
    return state;
  }

 private:
  void update(const Tensor& step_scalars) override {
    for (std::size_t n = 0; n < rotations_.size(); ++n) {
      const Parameter& parameter = *parameters()[n];
      if (parameter.var().grad().defined()) update_parameter(parameter, rotations_[n], step_scalars);
    }
  }

  // An update of zeros without decay is -learning_rate s'.
  void update_parameter(const Parameter& parameter, const RandomRotation& rotation, const Tensor& step_scalars) {
    Slices slices = slices_of(parameter);
    Tensor m = ParameterArena::slice(first_, parameter), v = ParameterArena::slice(second_, parameter);
    Tensor step = m.new_zeros(m.shape(), m.dtype());
    adamw(settings_, step_scalars, rotation.rotate(slices.gradient), step, m, v);
    weight_step({.weight_decay = weight_decay_of(parameter), .scale = -1, .by_learning_rate = false}, step_scalars,
                rotation.rotate_back(step), slices.weights, slices.copy);
  }

  AdamwSettings settings_;
  std::vector<RandomRotation> rotations_;  // in the order of the parameters
  Tensor first_, second_;                  // laid out like the master values, rotated
};

}  // namespace

std::unique_ptr<Optimizer> make_orthoadam(ParameterArena& parameters, const RunConfig& config,
                                          const ParameterShards& shards) {
  return std::make_unique<OrthoAdamOptimizer>(parameters, config, shards);
}

}  // namespace sink
