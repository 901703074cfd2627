// Stochastic gradient descent with momentum (as torch.optim.SGD with dampening 0, but for its decay, which is decoupled
// here as everywhere): for every number w with clipped gradient g,
//   m = momentum m + g,  w = w (1 - learning_rate weight_decay) - learning_rate m
// No number is scaled by its own gradients, which is what is asked of SGD here: adaptive scaling, number by number, is
// what some hold responsible for outliers (Kaul et al. 2024; Guo et al. 2024).
#pragma once

#include "train/optimizer.h"

namespace sink {

class SgdOptimizer : public Optimizer {
 public:
  SgdOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards);
  // momentum
  std::vector<OptimizerState> moments() const override;

 private:
  void update(const Tensor& step_scalars) override;

  double momentum_, clip_;
  std::vector<Range> ranges_;
  Tensor sum_;  // m, laid out like the parameters' master values
};

}  // namespace sink
