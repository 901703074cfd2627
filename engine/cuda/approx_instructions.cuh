// Functions that the GPU approximates with one instruction (MUFU), and their documented errors (PTX ISA, section
// "Floating Point Instructions"). Results on the emulated device have errors of that size, so that no test passes
// because an approximation happens to be exact.
#pragma once

#include "engine/cuda/device.cuh"

#ifndef __CUDACC__
#include <bit>
#include <cmath>

#include "engine/cuda/emulated/counters.h"
#endif

namespace sink::cuda {

#ifndef __CUDACC__
namespace emulation {

// A hash of x in [-1, 1].
SINK_EMULATION inline float hash(float x) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(x) * 0x9e3779b9u;
  bits = (bits ^ bits >> 15) * 0x85ebca6bu;
  return static_cast<float>(static_cast<std::int32_t>(bits ^ bits >> 13)) * 0x1p-31f;
}
// An error below `error` after rounding to float, which adds up to 2^-24 of the result.
SINK_EMULATION inline double error_of(float x, double error) { return (error - 0x1p-24) * hash(x); }
// Arguments and results below 2^-126 are flushed to zero.
SINK_EMULATION inline float flushed(float x) { return std::abs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
SINK_EMULATION inline float approximation(double result) {
  ++emulated::counters().approximations;
  return flushed(static_cast<float>(result));
}

}  // namespace emulation
#endif

#ifdef __CUDACC__
#define SINK_APPROXIMATION(name, instruction, emulated)            \
  __device__ inline float name(float x) {                          \
    float y;                                                       \
    asm(instruction ".approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); \
    return y;                                                      \
  }
#else
#define SINK_APPROXIMATION(name, instruction, emulated) \
  inline float name(float x) { return emulation::approximation(emulated); }
#endif

// 2^x, relative error < 2^-22.
SINK_APPROXIMATION(exp2_approx, "ex2", std::exp2(double{emulation::flushed(x)}) * (1 + emulation::error_of(x, 0x1p-22)))
// log2 of x >= 0; -infinity of 0. Error < 2^-22, absolute for x between 1/2 and 2, else relative.
SINK_APPROXIMATION(log2_approx, "lg2",
                   x > 0.5f && x < 2 ? std::log2(double{emulation::flushed(x)}) + emulation::error_of(x, 0x1p-22)
                                     : std::log2(double{emulation::flushed(x)}) * (1 + emulation::error_of(x, 0x1p-22)))
// 1 / x, relative error < 2^-23.
SINK_APPROXIMATION(reciprocal_approx, "rcp", 1 / double{emulation::flushed(x)} * (1 + emulation::error_of(x, 0x1p-23)))
#undef SINK_APPROXIMATION

}  // namespace sink::cuda
