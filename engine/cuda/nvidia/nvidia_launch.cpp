// The engine's stream, and the checks of calls and launches.
#include <string>

#include "engine/cuda/device.cuh"
#include "engine/cuda/nvidia/calls.h"

namespace sink::nvidia {
namespace {

[[noreturn]] void refuse(const char* call, const char* file, int line, const std::string& why) {
  std::string path = file;
  std::size_t in_repository = path.rfind("engine/");
  if (in_repository != std::string::npos) path.erase(0, in_repository);
  fail("cuda", std::string(call) + " at " + path + ":" + std::to_string(line) + ": " + why, Exit::device);
}

}  // namespace

thread_local cudaStream_t other_stream = nullptr;

void use_stream(cudaStream_t stream) { other_stream = stream; }

void check(cudaError_t result, const char* call, const char* file, int line) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // reported here, so reset it
  std::string why = std::string(cudaGetErrorString(result)) + " (" + cudaGetErrorName(result) + ")";
  if (result == cudaErrorMemoryAllocation)
    throw OutOfMemory("out of memory on the CUDA device: " + std::string(call) + ": " + why);
  refuse(call, file, line, why);
}

void check(cublasStatus_t result, const char* call, const char* file, int line) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  std::string why = std::string(cublasLtGetStatusString(result)) + " (" + cublasLtGetStatusName(result) + ")";
  if (result == CUBLAS_STATUS_ALLOC_FAILED)
    throw OutOfMemory("out of memory on the CUDA device: " + std::string(call) + ": " + why);
  refuse(call, file, line, why);
}

}  // namespace sink::nvidia

namespace sink::cuda {

void check_launch(const char* what) {
  cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return;
  std::string why = std::string(what) + ": " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) + ")";
  // A kernel's code is loaded at its first launch.
  if (result == cudaErrorMemoryAllocation) throw OutOfMemory("out of memory on the CUDA device: " + why);
  fail("cuda", why + ", of this kernel or one before it; with CUDA_LAUNCH_BLOCKING=1 it is this one", Exit::device);
}

void allow_shared_memory(const void* kernel, std::size_t bytes) {
  cudaError_t result =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (result != cudaErrorInvalidValue) return SINK_CALL(result);
  cudaGetLastError();
  int device = 0, most = 0;
  SINK_CALL(cudaGetDevice(&device));
  SINK_CALL(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  fail("cuda",
       "a kernel needs " + std::to_string(bytes) + " bytes of shared memory per block, of which this GPU has " +
           std::to_string(most) + "; narrower heads need less (more --heads)",
       Exit::device);
}

// One stream for the whole engine, so that everything executes in the order of the calls. It does not synchronize with
// the default stream, which other libraries use.
cudaStream_t stream() {
  static const cudaStream_t only = [] {
    cudaStream_t made;
    SINK_CALL(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
  }();
  return nvidia::other_stream ? nvidia::other_stream : only;
}

}  // namespace sink::cuda
