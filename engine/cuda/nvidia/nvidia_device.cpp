// Memory of a GPU: from the driver's pool, which keeps what is freed, in the order of the engine's stream.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "engine/comm/launcher.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/device.cuh"
#include "engine/cuda/nvidia/calls.h"
#include "engine/cuda/nvidia/graph.h"
#include "engine/cuda/tensor_kernels.h"

namespace sink::cuda {
namespace {

constexpr const char* kWithoutGpu =
    ". Without a GPU use --device cpu, or a build with -DSINK_CUDA=EMULATED, which runs the same kernels on the CPU";

// Of a number as the driver gives it: 13000 is "13.0".
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

[[noreturn]] void refuse_driver() {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::string needs = "this build needs one for CUDA " + version_text(CUDART_VERSION);
  fail("cuda",
       driver == 0 ? "no NVIDIA driver is installed (or this container does not see it); " + needs + kWithoutGpu
                   : "the NVIDIA driver is too old: it is for CUDA " + version_text(driver) + ", and " + needs +
                         ". Update the driver, or build with that version's toolkit",
       Exit::device);
}

__global__ void probe_kernel() {}

// The pool of the first GPU that the process may see (CUDA_VISIBLE_DEVICES chooses), of a run's ranks on one host that
// see the same ones each its own, checked to be usable.
struct Gpu {
  cudaDeviceProp properties;
  cudaMemPool_t pool;

  Gpu() {
    int count = 0;
    cudaError_t found = cudaGetDeviceCount(&count);
    if (found == cudaErrorInsufficientDriver) refuse_driver();
    if (found == cudaErrorNoDevice || (found == cudaSuccess && count == 0))
      fail("cuda", std::string("there is no NVIDIA GPU that this process may use") + kWithoutGpu, Exit::device);
    nvidia::check(found, "cudaGetDeviceCount", __FILE__, __LINE__);
    const int index = count > 1 ? local_rank() % count : 0;
    SINK_CALL(cudaSetDevice(index));
    SINK_CALL(cudaGetDeviceProperties(&properties, index));
    cudaFuncAttributes attributes;
    cudaError_t runs = cudaFuncGetAttributes(&attributes, probe_kernel);
    if (runs == cudaErrorNoKernelImageForDevice || runs == cudaErrorInvalidDeviceFunction) refuse_architecture();
    SINK_CALL(runs);
    if (!properties.memoryPoolsSupported)
      fail("cuda", std::string(properties.name) + " has no memory pools, which the engine takes its memory from",
           Exit::device);
    SINK_CALL(cudaDeviceGetDefaultMemPool(&pool, index));
    std::uint64_t keep_all = UINT64_MAX;
    SINK_CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
  }

  [[noreturn]] void refuse_architecture() const {
    std::string major = std::to_string(properties.major), minor = std::to_string(properties.minor);
    fail("cuda",
         "the GPU is a " + std::string(properties.name) + " of compute capability " + major + "." + minor +
             ", which this build has no kernels for; -DCMAKE_CUDA_ARCHITECTURES=" + major + minor +
             " makes them (8.0 is the least they are written for)",
         Exit::device);
  }
};
const Gpu& gpu() {
  static const Gpu first;
  return first;
}

std::size_t capacity() { return gpu().properties.totalGlobalMem; }

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  auto ask = [&] { return cudaMallocAsync(&memory, std::max<std::size_t>(bytes, 1), stream()); };
  cudaError_t result = ask();
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    nvidia::give_back_kept();
    result = ask();
    if (result == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
  }
  SINK_CALL(result);
  return memory;
}

// Called by destructors, so it throws nothing: where a kernel has failed, the next call says so; where the program
// ends, the driver may be gone.
void release(void* memory) {
  if (cudaFreeAsync(memory, stream()) != cudaSuccess) cudaGetLastError();
}

// Memory that the GPU copies from by itself. What is small is copied there first, as the caller may free or change its
// own memory at once, and waits for nothing unless all slots are under way.
class Staging {
 public:
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;

  Staging() {
    SINK_CALL(cudaMallocHost(&memory_, kSlotBytes * done_.size()));
    for (cudaEvent_t& done : done_) SINK_CALL(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }

  void copy(void* device, const void* host, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    char* slot = static_cast<char*>(memory_) + next_ * kSlotBytes;
    SINK_CALL(cudaEventSynchronize(done_[next_]));  // at once where it was never recorded
    std::memcpy(slot, host, bytes);
    SINK_CALL(cudaMemcpyAsync(device, slot, bytes, cudaMemcpyHostToDevice, stream()));
    SINK_CALL(cudaEventRecord(done_[next_], stream()));
    next_ = (next_ + 1) % done_.size();
  }

 private:
  std::mutex mutex_;
  void* memory_ = nullptr;
  std::array<cudaEvent_t, 8> done_{};
  std::size_t next_ = 0;
};

void copy_in(void* device, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes <= Staging::kSlotBytes) {
    static Staging* staging = new Staging;  // never destroyed, as the driver may be gone by then
    return staging->copy(device, host, bytes);
  }
  SINK_CALL(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()));
  SINK_CALL(cudaStreamSynchronize(stream()));
}

void copy_out(void* host, const void* device, std::size_t bytes) {
  if (bytes > 0) SINK_CALL(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream()));
  SINK_CALL(cudaStreamSynchronize(stream()));
}

}  // namespace

const DeviceMemory& device_memory() {
  gpu();
  static const DeviceMemory memory{allocate,
                                   release,
                                   copy_in,
                                   copy_out,
                                   fill,
                                   convert,
                                   nvidia::begin_recording,
                                   nvidia::end_recording,
                                   nvidia::run_recording,
                                   nvidia::drop_recording,
                                   capacity};
  return memory;
}

std::string description() { return "cuda (" + std::string(gpu().properties.name) + ")"; }

}  // namespace sink::cuda

namespace sink::nvidia {

void give_back_kept() {
  SINK_CALL(cudaStreamSynchronize(cuda::stream()));
  SINK_CALL(cudaMemPoolTrimTo(cuda::gpu().pool, 0));
  SINK_CALL(cudaDeviceGraphMemTrim(0));
}

}  // namespace sink::nvidia
