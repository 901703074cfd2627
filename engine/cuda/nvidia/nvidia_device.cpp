// Memory of a GPU, from the driver's pool, which caches freed memory, in the order of the engine's stream. Where a GPU
// has no pools (some virtual ones), or SINK_MEMORY_POOLS=off, from cudaMalloc and a cache of our own.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "engine/comm/launcher.h"
#include "engine/cuda/chosen_capability.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/device.cuh"
#include "engine/cuda/nvidia/block_cache.h"
#include "engine/cuda/nvidia/calls.h"
#include "engine/cuda/nvidia/graph.h"
#include "engine/recording.h"

namespace sink::cuda {
namespace {

constexpr const char* kWithoutGpu =
    ". Without a GPU use --device cpu, or a build with -DSINK_CUDA=EMULATED, which runs the same kernels on the CPU";

// The driver's 13000 is "13.0".
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

// Sets `pool` to the GPU's, which keeps all freed memory. Returns false if that or an allocation from it fails.
bool pool_works(int gpu, cudaMemPool_t& pool) {
  std::uint64_t keep_all = UINT64_MAX;
  void* memory = nullptr;
  bool works = cudaDeviceGetDefaultMemPool(&pool, gpu) == cudaSuccess &&
               cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all) == cudaSuccess &&
               cudaMallocAsync(&memory, 1, stream()) == cudaSuccess && cudaFreeAsync(memory, stream()) == cudaSuccess &&
               cudaStreamSynchronize(stream()) == cudaSuccess;
  if (!works) cudaGetLastError();
  return works;
}

// The GPU of this process and its memory pool, after checks that it is usable: the first visible one
// (CUDA_VISIBLE_DEVICES), or one per rank where several ranks of a host see the same GPUs.
struct Gpu {
  int index = 0;
  cudaDeviceProp properties;
  cudaMemPool_t pool = nullptr;
  bool has_pool = false;

  Gpu() {
    int count = 0;
    cudaError_t found = cudaGetDeviceCount(&count);
    if (found == cudaErrorInsufficientDriver) refuse_driver();
    if (found == cudaErrorNoDevice || (found == cudaSuccess && count == 0))
      fail("cuda", std::string("there is no NVIDIA GPU that this process may use") + kWithoutGpu, Exit::device);
    nvidia::check(found, "cudaGetDeviceCount", __FILE__, __LINE__);
    index = count > 1 ? local_rank() % count : 0;
    cudaError_t chosen = cudaSetDevice(index);
    if (chosen == cudaErrorMemoryAllocation)
      fail("cuda",
           "GPU " + std::to_string(index) +
               " has no memory left for another process; nvidia-smi lists those that use it",
           Exit::out_of_memory);
    nvidia::check(chosen, "cudaSetDevice", __FILE__, __LINE__);
    SINK_CALL(cudaGetDeviceProperties(&properties, index));
    cudaFuncAttributes attributes;
    cudaError_t runs = cudaFuncGetAttributes(&attributes, probe_kernel);
    if (runs == cudaErrorNoKernelImageForDevice || runs == cudaErrorInvalidDeviceFunction) refuse_architecture();
    SINK_CALL(runs);
    has_pool = memory_pools_allowed() && properties.memoryPoolsSupported && pool_works(index, pool);
  }

  [[noreturn]] void refuse_architecture() const {
    std::string major = std::to_string(properties.major), minor = std::to_string(properties.minor);
    fail("cuda",
         "the GPU is a " + std::string(properties.name) + " of compute capability " + major + "." + minor +
             (properties.major < 8 ? "; kernels need 8.0 or later" + std::string(kWithoutGpu)
                                   : ", which this build has no kernels for; -DCMAKE_CUDA_ARCHITECTURES=" + major +
                                         minor + " makes them"),
         Exit::device);
  }
};
const Gpu& gpu() {
  static const Gpu first;
  return first;
}

std::size_t capacity() { return gpu().properties.totalGlobalMem; }

// Blocks by cudaMalloc, for a GPU without a pool. Never destroyed: the driver may be gone by then.
nvidia::BlockCache& blocks() {
  static auto* only = new nvidia::BlockCache(
      [](std::size_t bytes) -> void* {
        void* memory = nullptr;
        cudaError_t result = cudaMalloc(&memory, bytes);
        if (result == cudaErrorMemoryAllocation) return cudaGetLastError(), nullptr;
        SINK_CALL(result);
        return memory;
      },
      [](void* memory) {
        if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
      });
  return *only;
}

void* allocate(std::size_t bytes) {
  if (!gpu().has_pool) return blocks().allocate(bytes);
  void* memory = nullptr;
  cudaError_t result =
      nvidia::retry_without_cache([&] { return cudaMallocAsync(&memory, std::max<std::size_t>(bytes, 1), stream()); });
  if (result == cudaErrorMemoryAllocation) return nullptr;
  SINK_CALL(result);
  return memory;
}

// Called by destructors, so it does not throw. After a failed kernel the next call reports it; at the program's end the
// driver may be gone.
void release(void* memory) {
  if (!gpu().has_pool) return blocks().release(memory);
  if (cudaFreeAsync(memory, stream()) != cudaSuccess) cudaGetLastError();
}

// Pinned memory for asynchronous copies of small data to the GPU: the caller may free or change its own memory after
// copy(), which waits only if all slots are in flight.
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
    SINK_CALL(cudaEventSynchronize(done_[next_]));  // returns at once if it was never recorded
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
    static Staging* staging = new Staging;  // never destroyed: the driver may be gone by then
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
  compute_capability();  // after gpu(): refuses a wrong SINK_COMPUTE_CAPABILITY
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

std::string description() {
  return "cuda (" + std::string(gpu().properties.name) + (gpu().has_pool ? ")" : ", without memory pools)");
}

int compute_capability() {
  static const int chosen_or_own = chosen_capability_of_gpu(gpu().properties.major * 10 + gpu().properties.minor);
  return chosen_or_own;
}

}  // namespace sink::cuda

namespace sink::nvidia {

void release_cached_memory() {
  SINK_CALL(cudaStreamSynchronize(cuda::stream()));
  if (!cuda::gpu().has_pool) return cuda::blocks().trim();
  SINK_CALL(cudaMemPoolTrimTo(cuda::gpu().pool, 0));
  SINK_CALL(cudaDeviceGraphMemTrim(cuda::gpu().index));
}

bool has_memory_pool() { return cuda::gpu().has_pool; }

}  // namespace sink::nvidia
