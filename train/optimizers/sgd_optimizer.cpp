// Stochastic gradient descent with momentum, as torch.optim.SGD with dampening 0 but with decoupled decay, as all
// optimizers here. For every element w with clipped gradient g,
//   m = momentum m + g,  w = w (1 - learning_rate weight_decay) - learning_rate m
// No element is scaled by its own gradients. That is why it is here: adaptive scaling per element may cause outliers
// (Kaul et al. 2024; Guo et al. 2024). State: momentum (m).
#include "engine/ops/optimizer/momentum.h"
#include "engine/ops/optimizer/weight_step.h"
#include "train/optimizer.h"
#include "train/optimizers/optimizers.h"

namespace sink {
namespace {

class SgdOptimizer : public Optimizer {
 public:
  SgdOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards)
      : Optimizer(parameters, config, shards), momentum_(config.momentum), clip_(config.clip) {}

  std::vector<OptimizerState> moments() const override { return {{"momentum", sum_}}; }

 private:
  void update(const Tensor& step_scalars) override {
    for_each_with_gradient(ranges_, [&](const Range& range, Slices& slices) {
      Tensor m = rows_of(sum_, range), no_look_ahead;
      momentum({.momentum = momentum_, .clip = clip_}, step_scalars, slices.gradient, m, no_look_ahead);
      weight_step({.weight_decay = range.weight_decay}, step_scalars, m, slices.weights, slices.copy);
    });
  }

  double momentum_, clip_;
  std::vector<Range> ranges_ = all_ranges();
  Tensor sum_ = zeros_like_masters();  // m
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(ParameterArena& parameters, const RunConfig& config,
                                    const ParameterShards& shards) {
  return std::make_unique<SgdOptimizer>(parameters, config, shards);
}

}  // namespace sink
