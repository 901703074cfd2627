// OrthoAdam (Kaul et al. 2024, "From Attention to Activation", 2410.17174, algorithm 1): Adam in coordinates that are
// turned at random, so that no number of the model's own basis is scaled by itself. For a parameter W with clipped
// gradient G and its fixed rotation R (train/optimizers/random_rotation.h),
//   G' = R(G);  m, v: running means of G' and G'^2;  s' = m^ / (sqrt(v^) + epsilon)      (as in
//   engine/ops/optimizer/adamw.h) W = W (1 - learning_rate weight_decay) - learning_rate R^-1(s')
// The paper has one orthogonal matrix for each parameter as one long vector, which no memory holds at size; here it is
// a product of one per axis, in blocks (random_rotation.h), as others do who train it. A mere permutation with signs
// would do nothing: Adam is the same in such coordinates.
#pragma once

#include "engine/ops/optimizer/adamw.h"
#include "train/optimizer.h"
#include "train/optimizers/random_rotation.h"

namespace sink {

class OrthoAdamOptimizer : public Optimizer {
 public:
  OrthoAdamOptimizer(ParameterArena& parameters, const RunConfig& config);
  // rotated_first_moment, rotated_second_moment
  std::vector<OptimizerState> state() const override;

 private:
  void update(const Tensor& step_scalars) override;
  void update_parameter(const Parameter& parameter, const RandomRotation& rotation, const Tensor& step_scalars);

  AdamwSettings settings_;
  std::vector<RandomRotation> rotations_;  // in the order of the parameters
  Tensor first_, second_;                  // laid out like the master values, rotated
};

}  // namespace sink
