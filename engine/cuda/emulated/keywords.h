// CUDA's keywords and built-in variables for g++: a kernel is an ordinary function, and threadIdx is the index of the
// emulated thread that runs.
#pragma once

#include <source_location>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ __restrict

// For the emulation of an instruction, not for kernels: optimized, and without race detection.
#define SINK_EMULATION __attribute__((no_sanitize_thread, optimize("O3")))

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct uint3 {
  unsigned x, y, z;
};

namespace sink::emulated {

struct Position {
  uint3 thread, block;
  dim3 block_size, grid_size;
};
// The emulated thread that this thread of the system runs now. In gdb:
//   break attention_kernel if sink::emulated::here.thread.x == 37 && sink::emulated::here.block.x == 1
extern thread_local Position here;

using Site = std::source_location;

}  // namespace sink::emulated

#define threadIdx (::sink::emulated::here.thread)
#define blockIdx (::sink::emulated::here.block)
#define blockDim (::sink::emulated::here.block_size)
#define gridDim (::sink::emulated::here.grid_size)
