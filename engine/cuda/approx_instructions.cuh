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
// What is left of `error` when the rounding to float has its part, up to 2^-24 of the result.
SINK_EMULATION inline double error_of(float x, double error) { return (error - 0x1p-24) * somewhere(x); }
// Numbers below 2^-126 are taken for zero, given and got.
SINK_EMULATION inline float flushed(float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
SINK_EMULATION inline float approximation(double wrong) {
  ++emulated::counters().approximations;
  return flushed(static_cast<float>(wrong));
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
  return meaning::approximation(std::exp2(double{meaning::flushed(x)}) * (1 + meaning::error_of(x, 0x1p-22)));
#endif
}

// log2 of x >= 0; -infinity of 0. Error < 2^-22, absolute for x between 1/2 and 2, else relative.
__device__ inline float log2_approx(float x) {
#ifdef __CUDACC__
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  double exact = std::log2(double{meaning::flushed(x)}), error = meaning::error_of(x, 0x1p-22);
  return meaning::approximation(x > 0.5f && x < 2 ? exact + error : exact * (1 + error));
#endif
}

// 1 / x, relative error < 2^-23.
__device__ inline float reciprocal_approx(float x) {
#ifdef __CUDACC__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return meaning::approximation(1 / double{meaning::flushed(x)} * (1 + meaning::error_of(x, 0x1p-23)));
#endif
}

}  // namespace sink::cuda
