// Layer norm in double.
#pragma once

#include "engine/ops/layer_norm/layer_norm.h"

namespace sink::ref {

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon);
void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C);

}  // namespace sink::ref
