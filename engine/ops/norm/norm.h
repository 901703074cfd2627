// The norm of every row, with a learned gain g and, in LayerNorm, a learned bias b:
//   y_c = x^_c g_c + b_c,   x^_c = (x_c - mean) r,   r = 1 / sqrt(mean_c((x_c - mean)^2) + epsilon)
// LayerNorm (Ba et al. 2016) subtracts the mean of the row; RMSNorm (Zhang and Sennrich 2019) has mean = 0 and b = 0.
//
// Backward, with dx^_c = dy_c g_c:  dg_c = sum over rows of dy_c x^_c,  db_c = sum over rows of dy_c,
//   dx_c = r (dx^_c - mean_k(dx^_k) - x^_c mean_k(dx^_k x^_k)), in RMSNorm without mean_k(dx^_k).
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

enum class NormKind { rms, layer };

inline constexpr double kNormEpsilon = 1e-5;

// x = a: (..., C) F32 or F64. With b, x is the residual sum u = a + b, which is stored: b and u are like a, b may be
// BF16. Without, b and u are undefined. gain_C, bias_C: like a; y: its shape, its type or BF16; mean and r: one number
// per row each, saved for backward. bias_C and mean are undefined in RMSNorm.
template <NormKind kind>
void norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
          Tensor& mean, Tensor& r, double epsilon);

// da = du + the gradient that dy gives x. du is what reaches x from elsewhere: undefined for nothing, da itself to add
// to it. db is da rounded to BF16, undefined for a b of the type of a, whose gradient is da too. dy is like y; dgain
// and dbias are like gain and added to where `accumulate` is set. dbias is undefined in RMSNorm.
template <NormKind kind>
void norm_backward(const Tensor& dy, const Tensor& du, const Tensor& x, const Tensor& gain_C, const Tensor& mean,
                   const Tensor& r, Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain, Tensor& dbias_C,
                   bool accumulate_dbias);

inline void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon = kNormEpsilon) {
  Tensor none;
  norm<NormKind::rms>(x, {}, gain_C, {}, none, y, none, r, epsilon);
}

inline void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                              bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  Tensor none;
  norm_backward<NormKind::rms>(dy, accumulate_dx ? dx : none, x, gain_C, {}, r, dx, none, dgain_C, accumulate_dgain,
                               none, false);
}

inline void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                       double epsilon = kNormEpsilon) {
  Tensor none;
  norm<NormKind::layer>(x, {}, gain_C, bias_C, none, y, mean, r, epsilon);
}

SINK_DECLARE_BACKENDS(template <NormKind kind> void norm(const Tensor& a, const Tensor& b, const Tensor& gain_C,
                                                         const Tensor& bias_C, Tensor& u, Tensor& y, Tensor& mean,
                                                         Tensor& r, double epsilon))
SINK_DECLARE_BACKENDS(template <NormKind kind>
                      void norm_backward(const Tensor& dy, const Tensor& du, const Tensor& x, const Tensor& gain_C,
                                         const Tensor& mean, const Tensor& r, Tensor& da, Tensor& db, Tensor& dgain_C,
                                         bool accumulate_dgain, Tensor& dbias_C, bool accumulate_dbias))

#define SINK_COMPILE_NORM(kind)                                                                                   \
  template void norm<kind>(const Tensor&, const Tensor&, const Tensor&, const Tensor&, Tensor&, Tensor&, Tensor&, \
                           Tensor&, double);                                                                      \
  template void norm_backward<kind>(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,    \
                                    const Tensor&, Tensor&, Tensor&, Tensor&, bool, Tensor&, bool);
#define SINK_COMPILE_NORMS SINK_COMPILE_NORM(NormKind::rms) SINK_COMPILE_NORM(NormKind::layer)

}  // namespace sink
