// Included by every kernel: CUDA's keywords, for a GPU or for the emulated device, and kernel launches.
//
// nvcc compiles a .cu file for a GPU (SINK_CUDA=ON). With SINK_CUDA=EMULATED g++ compiles the same file, and the kernel
// runs on the CPU, thread by thread (engine/cuda/emulated/). Only this file and *instructions.cuh depend on which.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/tensor.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/keywords.h"
#endif

namespace sink::cuda {

// Before a loop over an array that is kept in registers.
#ifdef __CUDACC__
#define SINK_UNROLL _Pragma("unroll")
#else
#define SINK_UNROLL
#endif

inline constexpr int kWarp = 32;  // threads that execute one instruction together

// The launch configuration: blocks, threads per block, and bytes of dynamic shared memory per block.
struct Grid {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
};

// Null for an undefined tensor.
template <class T = float, class X>
auto* data_or_null(X& x) {
  return x.defined() ? x.template device_data<T>() : nullptr;
}

// ceil(count / each), at least 1 because a grid may not be empty.
constexpr unsigned blocks_for(std::int64_t count, std::int64_t each) {
  return static_cast<unsigned>(count > each ? (count + each - 1) / each : 1);
}

#ifdef __CUDACC__

// Throws Error with Exit::device if this launch or an earlier call failed.
void check_launch(const char* what);
// For a kernel with more than 48 KB of shared memory per block. Throws Error with Exit::device if the GPU has less.
void allow_shared_memory(const void* kernel, std::size_t bytes);
cudaStream_t stream();

// Launches kernel(arguments...) on the engine's stream. Asynchronous.
template <class... Parameters, class... Arguments>
void launch(const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (grid.shared_bytes > 48 << 10) allow_shared_memory(reinterpret_cast<const void*>(kernel), grid.shared_bytes);
  kernel<<<grid.blocks, grid.threads, grid.shared_bytes, stream()>>>(Parameters(arguments)...);
  check_launch("launch");
}

// The dynamic shared memory of the block, Grid::shared_bytes, aligned to 128 bytes.
template <class T>
__device__ T* shared_memory() {
  extern __shared__ __align__(128) unsigned char block_memory[];
  return reinterpret_cast<T*>(block_memory);
}

#else

template <class... Parameters, class... Arguments>
void launch(const Grid& grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  emulated::run(
      {grid.blocks, grid.threads, grid.shared_bytes}, [=] { kernel(static_cast<Parameters>(arguments)...); },
      reinterpret_cast<const void*>(kernel));
}

template <class T>
T* shared_memory() {
  return reinterpret_cast<T*>(emulated::shared_memory());
}

#endif

}  // namespace sink::cuda
