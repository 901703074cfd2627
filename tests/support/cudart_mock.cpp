// A CUDA runtime whose GPU has no memory pools, for LD_PRELOAD: device memory is the host's, kernels do nothing, and
// each allocation is reported on stderr. CUDART_MOCK_POOLS=broken claims pools that fail instead.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool claims_pools() { return std::getenv("CUDART_MOCK_POOLS") != nullptr; }

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Mock");
  properties->major = 9;
  properties->totalGlobalMem = std::size_t{1} << 30;
  properties->memoryPoolsSupported = claims_pools();
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) { return *attributes = {}, cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return *stream = nullptr, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return *event = nullptr, cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return *memory = std::calloc(1, bytes), cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  std::fprintf(stderr, "cudaMalloc %zu\n", bytes);
  return *memory = std::calloc(1, bytes), cudaSuccess;
}
cudaError_t cudaFree(void* memory) { return std::free(memory), cudaSuccess; }

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { return *pool = nullptr, cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMallocAsync(void**, std::size_t bytes, cudaStream_t) {
  std::fprintf(stderr, "cudaMallocAsync %zu\n", bytes);
  return cudaErrorNotSupported;
}

}  // extern "C"
