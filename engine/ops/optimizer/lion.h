// One Lion update (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2) with decoupled
// weight decay, element by element, with g the gradient clipped as in adamw.h:
//   c = beta1 m + (1 - beta1) g
//   w = w (1 - learning_rate weight_decay) - learning_rate sign(c)      (sign(0) = 0)
//   m = beta2 m + (1 - beta2) g
// Every weight moves by the learning rate, whatever its gradient's size. Nothing changes where the loss or the norm is
// NaN or infinite.
#pragma once

#include "engine/ops/backends.h"
#include "engine/ops/optimizer/update.h"

namespace sink {

struct LionSettings {
  double beta1, beta2, weight_decay;
  double clip = 0;  // the largest norm of all gradients; 0: any
};

// w, dw, m: one shape, F32 or F64. `copy`: w rounded to BF16, which is kept up to date with it; or undefined.
void lion(const LionSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
          Tensor& copy);

SINK_BACKENDS(lion)

}  // namespace sink
