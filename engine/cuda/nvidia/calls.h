// Checked calls of the CUDA runtime and of cuBLASLt, through SINK_CALL.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include "engine/check.h"

namespace sink::nvidia {

// Throw Error with Exit::device, with the call and its source line, if `result` is not success.
void check(cudaError_t result, const char* call, const char* file, int line);
void check(cublasStatus_t result, const char* call, const char* file, int line);

// From now on this thread launches and copies on `stream`; null: the engine's stream.
void use_stream(cudaStream_t stream);

// Synchronizes, and returns cached memory to the driver, including that of graphs (nvidia_device.cpp).
void release_cached_memory();

// Whether memory comes from the driver's pool (nvidia_device.cpp).
bool has_memory_pool();

// Calls f() and, if the GPU is out of memory, again without cached memory.
template <class F>
cudaError_t retry_without_cache(F f) {
  cudaError_t result = f();
  if (result != cudaErrorMemoryAllocation) return result;
  cudaGetLastError();
  release_cached_memory();
  result = f();
  if (result == cudaErrorMemoryAllocation) cudaGetLastError();
  return result;
}

}  // namespace sink::nvidia

#define SINK_CALL(call) ::sink::nvidia::check((call), #call, __FILE__, __LINE__)
