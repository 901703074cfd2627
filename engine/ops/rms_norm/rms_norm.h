// Root-mean-square norm of every row: y_c = x_c r g_c, r = 1 / sqrt(mean_c(x_c^2) + epsilon), g the learned gain
// (Zhang and Sennrich 2019).
//
// Backward, with dx^_c = dy_c g_c:  dg_c = sum over rows of dy_c x_c r,
//   dx_c = r (dx^_c - x_c r^2 mean_k(dx^_k x_k)).
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr double kNormEpsilon = 1e-5;

// x: (..., C) F32 or F64; gain_C like x; y: shape of x, its type or BF16; r: one number per row, saved for backward.
void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon = kNormEpsilon);

// dy like y; dx like x; dgain like gain. With accumulate_dx and accumulate_dgain they are added to, else overwritten.
void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain);

// The norm of a sum, in one pass: u = a + b, y = rms_norm(u). a and u are like x above, b is like them or BF16 (a
// branch added to the F32 residual stream).
void add_rms_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, Tensor& u, Tensor& y, Tensor& r,
                  double epsilon = kNormEpsilon);
// da = du + the gradient that dy gives u, where du is what reaches u from elsewhere, undefined for nothing. db is the
// same rounded to BF16; undefined where b has the type of a, whose gradient is da too.
void add_rms_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C, const Tensor& r,
                           Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain);

SINK_BACKENDS(rms_norm)
SINK_BACKENDS(rms_norm_backward)
SINK_BACKENDS(add_rms_norm)
SINK_BACKENDS(add_rms_norm_backward)

}  // namespace sink
