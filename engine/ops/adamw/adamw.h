// One AdamW update with decoupled weight decay (Loshchilov and Hutter 2019), element by element:
//   g = gradient_scale dw               (the clipping factor)
//   m = beta1 m + (1 - beta1) g         m^ = m / (1 - beta1^step)
//   v = beta2 v + (1 - beta2) g^2       v^ = v / (1 - beta2^step)
//   w = w (1 - learning_rate weight_decay) - learning_rate m^ / (sqrt(v^) + epsilon)
#pragma once

#include "engine/tensor.h"

namespace sink {

struct AdamwStep {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  double gradient_scale = 1;
  std::int64_t step = 1;  // 1 at the first update
};

// w, dw, m, v: one shape, F32 or F64.
void adamw(const AdamwStep& settings, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v);

}  // namespace sink
