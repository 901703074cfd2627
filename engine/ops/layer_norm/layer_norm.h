// Layer norm of every row: y_c = x^_c g_c + b_c, x^_c = (x_c - mean) r, r = 1 / sqrt(variance + epsilon), with mean and
// variance (divided by C) of the row, g and b learned (Ba et al. 2016).
//
// Backward, with dx^_c = dy_c g_c:  dg_c = sum over rows of dy_c x^_c, db_c = sum over rows of dy_c,
//   dx_c = r (dx^_c - mean_k(dx^_k) - x^_c mean_k(dx^_k x^_k)).
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr double kLayerNormEpsilon = 1e-5;

// x: (..., C) F32 or F64; gain_C, bias_C like x; y: shape of x, its type or BF16; mean and r: one number per row
// each, saved for backward.
void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon = kLayerNormEpsilon);

// Where a gradient goes, and whether it is added to what is there.
struct LayerNormGradient {
  Tensor& grad;
  bool accumulate;
};

// dy like y; dx like x; dgain and dbias like gain.
void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C);

// The norm of a sum, in one pass: u = a + b, y = layer_norm(u). a and u are like x above, b is like them or BF16 (a
// branch added to the F32 residual stream).
void add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
                    Tensor& mean, Tensor& r, double epsilon = kLayerNormEpsilon);
// da = du + the gradient that dy gives u, where du is what reaches u from elsewhere, undefined for nothing. db is the
// same rounded to BF16; undefined where b has the type of a, whose gradient is da too.
void add_layer_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C,
                             const Tensor& mean, const Tensor& r, Tensor& da, Tensor& db,
                             const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C);

SINK_BACKENDS(layer_norm)
SINK_BACKENDS(layer_norm_backward)
SINK_BACKENDS(add_layer_norm)
SINK_BACKENDS(add_layer_norm_backward)

}  // namespace sink
