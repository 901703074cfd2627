// Layer norm in double.
#pragma once

#include "engine/ops/layer_norm/layer_norm.h"

namespace sink::ref {

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon);
void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C);
void add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
                    Tensor& mean, Tensor& r, double epsilon);
void add_layer_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C,
                             const Tensor& mean, const Tensor& r, Tensor& da, Tensor& db,
                             const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C);

}  // namespace sink::ref
