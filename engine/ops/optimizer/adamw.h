// One AdamW update with decoupled weight decay (Loshchilov and Hutter 2019), clipped by the norm of all gradients,
// element by element:
//   g = dw min(1, clip / (norm + 1e-6)) where norm > clip > 0, else dw
//   m = beta1 m + (1 - beta1) g         m^ = m / (1 - beta1^update)
//   v = beta2 v + (1 - beta2) g^2       v^ = v / (1 - beta2^update)
//   w = w (1 - learning_rate weight_decay) - learning_rate m^ / (sqrt(v^) + epsilon)
// Nothing changes where the loss or the norm is NaN or infinite (engine/ops/optimizer/update.h).
#pragma once

#include "engine/ops/backends.h"
#include "engine/ops/optimizer/update.h"

namespace sink {

struct AdamwSettings {
  double beta1, beta2, epsilon, weight_decay;
  double clip = 0;  // the largest norm of all gradients; 0: any
};

// w, dw, m, v: one shape, F32 or F64. `copy`: w rounded to BF16, which is kept up to date with it; or undefined.
void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy);
SINK_BACKENDS(adamw)
// The same without a copy.
void adamw(const AdamwSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& w, Tensor& m,
           Tensor& v);

}  // namespace sink
