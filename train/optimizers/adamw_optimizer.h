// AdamW (Loshchilov and Hutter 2019), the study's optimiser: engine/ops/optimizer/adamw.h has the formula. One call
// over the whole arena where all of it is decayed alike.
#pragma once

#include "engine/ops/optimizer/adamw.h"
#include "train/optimizer.h"

namespace sink {

// Of the settings, without the decay that a range has.
AdamwSettings adamw_settings(const RunConfig& config);

class AdamwOptimizer : public Optimizer {
 public:
  AdamwOptimizer(ParameterArena& parameters, const RunConfig& config, const ParameterShards& shards);
  // first_moment, second_moment
  std::vector<OptimizerState> moments() const override;

 private:
  void update(const Tensor& step_scalars) override;

  AdamwSettings settings_;
  std::vector<Range> ranges_;
  Tensor first_, second_;  // laid out like the parameters' master values
};

}  // namespace sink
