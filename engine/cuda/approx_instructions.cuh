// Functions that the GPU approximates in one instruction (MUFU), with their documented errors (PTX ISA, section
// "Floating Point Instructions"). The emulated device returns numbers that are wrong by as much, so that no test passes
// because an approximation happened to be exact.
#pragma once

#include "engine/cuda/device.cuh"

#ifndef __CUDACC__
#include <bit>
#include <cmath>

#include "engine/cuda/emulated/counters.h"
#endif

namespace sink::cuda {

#ifndef __CUDACC__
namespace meaning {

// In [-1, 1], different for neighbouring x and always the same for one x.
SINK_EMULATION inline float somewhere(float x) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(x) * 0x9e3779b9u;
  bits = (bits ^ bits >> 15) * 0x85ebca6bu;
  return static_cast<float>(static_cast<std::int32_t>(bits ^ bits >> 13)) * 0x1p-31f;
}
// Wrong by up to `error` of itself; with numbers below 2^-126 taken for zero.
SINK_EMULATION inline float approximated(double exact, float x, double error) {
  ++emulated::counters().approximations;
  auto y = static_cast<float>(exact * (1 + error * somewhere(x)));
  return std::abs(y) < 0x1p-126f ? std::copysign(0.0f, y) : y;
}

}  // namespace meaning
#endif

// 2^x, relative error < 2^-22.
__device__ inline float exp2_approx(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return meaning::approximated(std::exp2(double{x}), x, 0x1p-22);
#endif
}

// log2 of x >= 0; -infinity of 0. Error < 2^-22, absolute for x between 1/2 and 2, else relative.
__device__ inline float log2_approx(float x) {
#ifdef __CUDACC__
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  double exact = std::log2(double{x});
  if (x > 0.5f && x < 2) return meaning::approximated(exact + 0x1p-22 * meaning::somewhere(x), x, 0);
  return meaning::approximated(exact, x, 0x1p-22);
#endif
}

// 1 / x, relative error < 2^-23.
__device__ inline float reciprocal_approx(float x) {
#ifdef __CUDACC__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return meaning::approximated(1 / double{x}, x, 0x1p-23);
#endif
}

}  // namespace sink::cuda
