// One AdamW update with decoupled weight decay (Loshchilov and Hutter 2019), clipped by the norm of all gradients,
// element by element:
//   g = dw min(1, clip / (norm + 1e-6)) where norm > clip > 0, else dw
//   m = beta1 m + (1 - beta1) g         m^ = m / (1 - beta1^update)
//   v = beta2 v + (1 - beta2) g^2       v^ = v / (1 - beta2^update)
//   w = w (1 - learning_rate weight_decay) - learning_rate m^ / (sqrt(v^) + epsilon)
// Nothing changes where the loss or the norm is NaN or infinite.
//
// All that differs from step to step is read from a tensor beside the weights, so an update can be launched on a device
// before the host knows the loss.
#pragma once

#include "engine/tensor.h"

namespace sink {

struct AdamwSettings {
  double beta1, beta2, epsilon, weight_decay;
  double clip = 0;  // the largest norm of all gradients; 0: any
};

// What stands where in the numbers of a step, F64 (4); `update` is 1 at the first update.
struct AdamwNumber {
  static constexpr std::int64_t loss = 0, squared_norm = 1, learning_rate = 2, update = 3, count = 4;
};
// Those that are known before a step; loss and squared norm are 0 and are to be added to.
Tensor adamw_numbers(double learning_rate, std::int64_t update);

// w, dw, m, v: one shape, F32 or F64. `copy`: w rounded to BF16, which is kept up to date with it; or undefined.
void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor& copy);
void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v);

}  // namespace sink
