// A GPU as the device of kernels.so: what nvidia_device.cpp and nvidia_launch.cpp are to the engine, with the caller's
// stream. Needs the CUDA runtime only.
#include <string>

#include "engine/check.h"
#include "engine/cuda/chosen_capability.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/device.cuh"
#include "engine/cuda/nvidia/block_cache.h"
#include "tools/gpu/kernels/kernel_device.h"

namespace sink::kernels {
namespace {

thread_local cudaStream_t current_stream = nullptr;

void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess)
    fail("cuda", std::string(call) + ": " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) + ")",
         Exit::device);
}

// Scratch memory of kernels. One stream at a time is used, so blocks can be reused at once.
nvidia::BlockCache& blocks() {
  static auto* only = new nvidia::BlockCache(
      [](std::size_t bytes) -> void* {
        void* memory = nullptr;
        cudaError_t result = cudaMalloc(&memory, bytes);
        if (result == cudaErrorMemoryAllocation) return cudaGetLastError(), nullptr;
        check(result, "cudaMalloc");
        return memory;
      },
      [](void* memory) { cudaFree(memory); });
  return *only;
}

}  // namespace

void use_stream(void* stream) { current_stream = static_cast<cudaStream_t>(stream); }

const DeviceMemory& device_memory() {
  static const DeviceMemory memory{
      .allocate = [](std::size_t bytes) { return blocks().allocate(bytes); },
      .release = [](void* memory) { blocks().release(memory); },
      .copy_in =
          [](void* device, const void* host, std::size_t bytes) {
            check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, current_stream), "cudaMemcpyAsync");
            synchronize();
          },
      .copy_out =
          [](void* host, const void* device, std::size_t bytes) {
            check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, current_stream), "cudaMemcpyAsync");
            synchronize();
          },
      .fill = cuda::fill,
      .convert = cuda::convert,
      .begin_recording = nullptr,
      .end_recording = nullptr,
      .run_recording = nullptr,
      .drop_recording = nullptr,
      .capacity = [] { return std::size_t{0}; }};
  return memory;
}

void copy_on_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, current_stream), "cudaMemcpyAsync");
}

const char* device_name() {
  static const cudaDeviceProp properties = [] {
    cudaDeviceProp of_device{};
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaGetDeviceProperties(&of_device, device), "cudaGetDeviceProperties");
    return of_device;
  }();
  return properties.name;
}

void synchronize() { check(cudaStreamSynchronize(current_stream), "cudaStreamSynchronize"); }

void* event_create() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return event;
}

void event_record(void* event) {
  check(cudaEventRecord(static_cast<cudaEvent_t>(event), current_stream), "cudaEventRecord");
}

double event_elapsed(void* first, void* second) {
  float milliseconds = 0;
  check(cudaEventSynchronize(static_cast<cudaEvent_t>(second)), "cudaEventSynchronize");
  check(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(first), static_cast<cudaEvent_t>(second)),
        "cudaEventElapsedTime");
  return milliseconds;
}

}  // namespace sink::kernels

// What engine/cuda/device.cuh and cuda_memory.h ask of a GPU.
namespace sink::cuda {

int compute_capability() {
  static const int chosen_or_own = [] {
    int device = 0, major = 0, minor = 0;
    kernels::check(cudaGetDevice(&device), "cudaGetDevice");
    kernels::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
    kernels::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
    return chosen_capability_of_gpu(major * 10 + minor);
  }();
  return chosen_or_own;
}

cudaStream_t stream() { return kernels::current_stream; }
void check_launch(const char* what) { kernels::check(cudaGetLastError(), what); }
void allow_shared_memory(const void* kernel, std::size_t bytes) {
  kernels::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                 "cudaFuncSetAttribute");
}

}  // namespace sink::cuda
