// Lion (Chen et al. 2023): engine/ops/optimizer/lion.h has the formula. Its authors take beta1 = 0.9 and beta2 = 0.99,
// a learning rate 3 to 10 times smaller than AdamW's, and a weight decay as many times larger.
#pragma once

#include "engine/ops/optimizer/lion.h"
#include "train/optimizer.h"

namespace sink {

class LionOptimizer : public Optimizer {
 public:
  LionOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards);
  // momentum
  std::vector<OptimizerState> moments() const override;

 private:
  void update(const Tensor& step_scalars) override;

  LionSettings settings_;
  std::vector<Range> ranges_;
  Tensor momentum_;  // laid out like the parameters' master values
};

}  // namespace sink
