// A step of the weights along a direction u, with decoupled weight decay, element by element:
//   w = w (1 - learning_rate weight_decay) - rate u,   rate = learning_rate scale, or scale alone
// for optimisers that make u first: SGD, Muon, OrthoAdam (train/optimizers/). Nothing changes where the loss or the
// norm is NaN or infinite.
#pragma once

#include "engine/ops/backends.h"
#include "engine/ops/optimizer/update.h"

namespace sink {

struct WeightStepSettings {
  double weight_decay;
  double scale = 1;
  bool by_learning_rate = true;  // false: u has the size of the learning rate
};

// u, w: one shape, F32 or F64. `copy`: w rounded to BF16, which is kept up to date with it; or undefined.
void weight_step(const WeightStepSettings& settings, const Tensor& step_scalars, const Tensor& u, Tensor& w,
                 Tensor& copy);

SINK_BACKENDS(weight_step)

}  // namespace sink
