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
  refuse(call, file, line, std::string(cudaGetErrorString(result)) + " (" + cudaGetErrorName(result) + ")");
}

void check(cublasStatus_t result, const char* call, const char* file, int line) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  refuse(call, file, line, std::string(cublasLtGetStatusString(result)) + " (" + cublasLtGetStatusName(result) + ")");
}

}  // namespace sink::nvidia

namespace sink::cuda {

void check_launch(const char* what) {
  cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return;
  fail("cuda",
       std::string(what) + ": " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) +
           "), of this kernel or one before it; with CUDA_LAUNCH_BLOCKING=1 it is this one",
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
