// exp, logistic, log, log(logistic), tanh and erf as short branch-free formulas, which compilers turn into vector code
// inside loops; the double overloads are the library's functions. NaN gives NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/host_device.h"

namespace sink {

SINK_HD inline double exp_fast(double x) { return std::exp(x); }

// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln(2) / 2. Relative error < 2e-7; exactly 0 below -87 (where the
// result would be subnormal) and infinity above 88.73.
SINK_HD inline float exp_fast(float x) {
  constexpr float kLowest = -87.3366f, kHighest = 89.0f;  // n stays in [-126, 128]
  x = x < kLowest ? kLowest : x;                          // in this order a NaN passes
  x = x > kHighest ? kHighest : x;
  // Adding 1.5 * 2^23 leaves round(x / ln 2) in the low bits of the sum.
  constexpr float kRounder = 12582912.0f;
  float rounded = x * 1.44269504f + kRounder;
  float n = rounded - kRounder;
  float r = x - n * 0.693359375f;  // ln 2 in two parts; n times the first is exact
  r = r - n * -2.12194440e-4f;
  // Minimax polynomial for exp on the interval, relative error 2e-9.
  float p = 0.0013836794f;
  p = p * r + 0.008374857f;
  p = p * r + 0.041668229f;
  p = p * r + 0.166664197f;
  p = p * r + 0.49999992f;
  p = p * r + 1.0000000364f;
  p = p * r + 1.0f;
  // 2^(n-1), whose exponent field is n + 126: 0 for the lowest n, so the result is 0 there, and within range for n =
  // 128.
  constexpr std::uint32_t kRounderBits = 0x4b400000u;
  std::uint32_t field = std::bit_cast<std::uint32_t>(rounded) - kRounderBits + 126u;
  return (p + p) * std::bit_cast<float>(field << 23);
}

// 1 / (1 + exp(-x)); exp overflows to infinity for very negative x, and 1 / infinity is the right answer.
template <class R>
SINK_HD inline R logistic_fast(R x) {
  return R(1) / (R(1) + exp_fast(-x));
}

SINK_HD inline double log_fast(double x) { return std::log(x); }

// log(x) for normal x > 0, relative error < 3e-7 away from 1; some finite number for 0, so that 0 * log_fast(0) = 0.
// x = 2^n y with y in [sqrt(1/2), sqrt(2)); polynomial from Cephes' logf (Moshier).
SINK_HD inline float log_fast(float x) {
  constexpr std::uint32_t kSqrtHalfBits = 0x3f3504f3u;
  std::uint32_t above = std::bit_cast<std::uint32_t>(x) - kSqrtHalfBits;
  float n = static_cast<float>(static_cast<std::int32_t>(above) >> 23);
  float t = std::bit_cast<float>((above & 0x007fffffu) + kSqrtHalfBits) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * t - 1.1514610310e-1f;
  p = p * t + 1.1676998740e-1f;
  p = p * t - 1.2420140846e-1f;
  p = p * t + 1.4249322787e-1f;
  p = p * t - 1.6668057665e-1f;
  p = p * t + 2.0000714765e-1f;
  p = p * t - 2.4999993993e-1f;
  p = p * t + 3.3333331174e-1f;
  float square = t * t;
  return n * 0.693147181f + (t - 0.5f * square + square * t * p);
}

// log(1 / (1 + exp(-x))) = min(x, 0) - log(1 + exp(-|x|)); absolute error < 2e-7 and relative 2e-7 below 0.
SINK_HD inline double log_logistic_fast(double x) { return (x > 0 ? 0 : x) - std::log1p(std::exp(-std::abs(x))); }
SINK_HD inline float log_logistic_fast(float x) {
  return (x > 0.0f ? 0.0f : x) - log_fast(1.0f + exp_fast(-std::abs(x)));
}

SINK_HD inline double tanh_fast(double x) { return std::tanh(x); }

// Relative error < 3e-7 in float, also near 0, where 1 - 2 / (e^(2x) + 1) would cancel. Polynomial from Cephes' tanhf
// (Moshier). R: float, or the FastFloat of CUDA kernels.
template <class R>
SINK_HD inline R tanh_fast(R x) {
  using std::abs, std::copysign;
  R t = abs(x), square = x * x;
  R near = R(-5.70498872745e-3f);
  near = near * square + R(2.06390887954e-2f);
  near = near * square - R(5.37397155531e-2f);
  near = near * square + R(1.33314422036e-1f);
  near = near * square - R(3.33332819422e-1f);
  near = near * square * x + x;
  R far = copysign(R(1) - R(2) / (exp_fast(R(2) * t) + R(1)), x);
  return t > R(0.625f) ? far : near;  // in this order a NaN passes
}

SINK_HD inline double erf_fast(double x) { return std::erf(x); }

// Absolute error < 8e-8, relative < 1e-7. Two polynomials, after N. Juffa: erf itself near 0, and the logarithm of
// 1 - erf(|x|) beyond.
SINK_HD inline float erf_fast(float x) {
  float t = std::abs(x), square = x * x;
  float near = -5.96761703e-4f;
  near = near * square + 4.99119423e-3f;
  near = near * square - 2.67681349e-2f;
  near = near * square + 1.12819925e-1f;
  near = near * square - 3.76125336e-1f;
  near = near * square + 1.28379166e-1f;
  near = near * x + x;
  float log_rest = -1.72853470e-5f * t + 3.83197126e-4f;
  log_rest = log_rest * t - 3.88396438e-3f;
  log_rest = log_rest * t + 2.42546219e-2f;
  log_rest = log_rest * t - 1.06777877e-1f;
  log_rest = log_rest * t - 6.34846687e-1f;
  log_rest = log_rest * t - 1.28717512e-1f;
  log_rest = log_rest * t - t;
  float far = std::copysign(1.0f - exp_fast(log_rest), x);
  return t > 0.927734375f ? far : near;  // in this order a NaN passes
}

}  // namespace sink
