// A CUDA runtime and cuBLASLt for LD_PRELOAD: device memory is the host's, kernels and products do nothing, and each
// allocation is reported on stderr. Environment variables:
//   CUDART_MOCK_POOLS=broken          memory pools that fail; works: pools whose memory holds 3.0f; unset: no pools
//   CUDART_MOCK_GPUS=2                how many GPUs there are; each choice of one is reported
//   CUDART_MOCK_CAPABILITY=75         their compute capability, 90 by default; the build has no kernels for others
//   CUDART_MOCK_OUT_OF_MEMORY=cudaMalloc    the call that is out of memory the first time
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
bool claims_pools() { return !variable("CUDART_MOCK_POOLS").empty(); }
bool pools_work() { return variable("CUDART_MOCK_POOLS") == "works"; }
int capability() {
  const std::string chosen = variable("CUDART_MOCK_CAPABILITY");
  return chosen.empty() ? 90 : std::atoi(chosen.c_str());
}

// cudaErrorMemoryAllocation at the first call of the one that is out of memory.
cudaError_t memory_for(const char* call) {
  static bool failed = false;
  if (failed || variable("CUDART_MOCK_OUT_OF_MEMORY") != call) return cudaSuccess;
  std::fprintf(stderr, "%s is out of memory\n", call);
  failed = true;
  return cudaErrorMemoryAllocation;
}

void* filled_with_3(std::size_t bytes) {
  auto* memory = static_cast<float*>(std::malloc(bytes + sizeof(float)));
  std::fill_n(memory, bytes / sizeof(float) + 1, 3.0f);
  return memory;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const std::string gpus = variable("CUDART_MOCK_GPUS");
  return *count = gpus.empty() ? 1 : std::atoi(gpus.c_str()), cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  std::fprintf(stderr, "cudaSetDevice %d\n", device);
  return memory_for("cudaSetDevice");
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Mock");
  properties->major = capability() / 10;
  properties->minor = capability() % 10;
  properties->totalGlobalMem = std::size_t{1} << 30;
  properties->memoryPoolsSupported = claims_pools();
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return capability() == 90 ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}
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
  if (memory_for("cudaMalloc") != cudaSuccess) return cudaErrorMemoryAllocation;
  std::fprintf(stderr, "cudaMalloc %zu\n", bytes);
  return *memory = std::calloc(1, bytes), cudaSuccess;
}
cudaError_t cudaFree(void* memory) { return std::free(memory), cudaSuccess; }

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { return *pool = nullptr, cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t) {
  std::fprintf(stderr, "cudaMallocAsync %zu\n", bytes);
  if (!pools_work()) return cudaErrorNotSupported;
  return *memory = filled_with_3(bytes), cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return std::free(memory), cudaSuccess; }

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return cudaSuccess; }
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) { return *graph = nullptr, cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t, unsigned long long) {
  return *ready = nullptr, memory_for("cudaGraphInstantiate");
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return std::fprintf(stderr, "cudaDeviceGraphMemTrim %d\n", device), cudaSuccess;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return *handle = nullptr, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t, cudaDataType_t) {
  return *product = nullptr, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*,
                                              std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType, std::uint64_t, std::uint64_t,
                                          std::int64_t) {
  return *layout = nullptr, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return *preference = nullptr, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t* found,
                                              int* count) {
  found->state = CUBLAS_STATUS_SUCCESS;
  return *count = 1, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
                              const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t,
                              void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
