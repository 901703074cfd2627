// What every kernel includes: CUDA's keywords, for a GPU or for the emulated device, and how kernels are launched.
//
// nvcc compiles a .cu file for a GPU (SINK_CUDA=ON). With SINK_CUDA=EMULATED g++ compiles the same file and the kernel
// runs on the CPU, thread by thread (engine/cuda/emulated/). This file and engine/cuda/instructions.cuh are the only
// ones that know which.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/keywords.h"
#endif

namespace sink::cuda {

// Before a loop over an array that shall lie in registers.
#ifdef __CUDACC__
#define SINK_UNROLL _Pragma("unroll")
#else
#define SINK_UNROLL
#endif

inline constexpr int kWarp = 32;  // threads that execute one instruction together

// How many blocks of how many threads run a kernel, and the bytes of shared memory each block has.
struct Grid {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
};

// Blocks of `each` that cover `count`; at least one, as no grid may be empty.
constexpr unsigned blocks_for(std::int64_t count, std::int64_t each) {
  return static_cast<unsigned>(count > each ? (count + each - 1) / each : 1);
}

#ifdef __CUDACC__

// Throws Error with Exit::device if the call or one before it failed.
void check_launch(const char* what);
cudaStream_t stream();

// Runs kernel(arguments...) on the engine's stream. Returns before it is done.
template <class... Parameters, class... Arguments>
void launch(const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (grid.shared_bytes > 48 << 10)
    cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(grid.shared_bytes));
  kernel<<<grid.blocks, grid.threads, grid.shared_bytes, stream()>>>(Parameters(arguments)...);
  check_launch("launch");
}

// The shared memory of the block, as many bytes as the grid says, aligned to 128 bytes. The only way to it.
template <class T>
__device__ T* shared_memory() {
  extern __shared__ __align__(128) unsigned char block_memory[];
  return reinterpret_cast<T*>(block_memory);
}

#else

template <class... Parameters, class... Arguments>
void launch(const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  emulated::run({grid.blocks, grid.threads, grid.shared_bytes}, [=] { kernel(static_cast<Parameters>(arguments)...); });
}

template <class T>
T* shared_memory() {
  return reinterpret_cast<T*>(emulated::shared_memory());
}

#endif

}  // namespace sink::cuda
