// A float whose exponential, logarithm and quotient are the GPU's approximations, for the scalar functions of
// attention_op.h in kernels. It is a separate type because exp_fast(float) is the CPU's formula.
#pragma once

#include <limits>

#include "engine/cuda/approx_instructions.cuh"
#include "engine/host_device.h"

namespace sink::cuda {

struct FastFloat {
  float value;

  FastFloat() = default;
  SINK_HD constexpr FastFloat(float value) : value(value) {}
  SINK_HD constexpr explicit operator float() const { return value; }
};

#define SINK_OPERATION(op) \
  SINK_HD inline FastFloat operator op(FastFloat x, FastFloat y) { return x.value op y.value; }
#define SINK_COMPARISON(op) \
  SINK_HD inline bool operator op(FastFloat x, FastFloat y) { return x.value op y.value; }
SINK_OPERATION(+)
SINK_OPERATION(-)
SINK_OPERATION(*)
SINK_COMPARISON(<)
SINK_COMPARISON(>)
SINK_COMPARISON(<=)
SINK_COMPARISON(>=)
#undef SINK_OPERATION
#undef SINK_COMPARISON
SINK_HD inline FastFloat operator-(FastFloat x) { return -x.value; }
SINK_HD inline FastFloat operator+=(FastFloat& x, FastFloat y) { return x = x + y; }
SINK_HD inline FastFloat operator*=(FastFloat& x, FastFloat y) { return x = x * y; }

// For values between 2^-126 and 2^126.
__device__ inline FastFloat operator/(FastFloat x, FastFloat y) { return x.value * reciprocal_approx(y.value); }

inline constexpr float kLog2E = 1.44269504f;  // log2(e)

__device__ inline FastFloat exp_fast(FastFloat x) { return exp2_approx(x.value * kLog2E); }
__device__ inline FastFloat log_fast(FastFloat x) { return log2_approx(x.value) * 0.693147181f; }
__device__ inline FastFloat log(FastFloat x) { return log_fast(x); }
__device__ inline FastFloat log_logistic_fast(FastFloat x) {
  return (x.value > 0.0f ? FastFloat(0.0f) : x) - log_fast(FastFloat(1.0f) + exp_fast(-fabsf(x.value)));
}
__device__ inline FastFloat pow(FastFloat x, FastFloat y) { return exp2_approx(y.value * log2_approx(x.value)); }
__device__ inline FastFloat abs(FastFloat x) { return fabsf(x.value); }
__device__ inline FastFloat copysign(FastFloat x, FastFloat y) { return copysignf(x.value, y.value); }

}  // namespace sink::cuda

template <>
struct std::numeric_limits<sink::cuda::FastFloat> : std::numeric_limits<float> {};
