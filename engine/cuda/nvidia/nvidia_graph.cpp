// Recordings as CUDA graphs. Allocations and frees during the capture (cudaMallocAsync, cudaFreeAsync) become nodes of
// the graph, which has its own memory at fixed addresses.
#include "engine/cuda/device.cuh"
#include "engine/cuda/nvidia/calls.h"
#include "engine/cuda/nvidia/graph.h"

namespace sink::nvidia {

using cuda::stream;

void begin_recording() {
  if (!has_memory_pool())
    fail("cuda", "memory does not come from a pool, which a graph's allocations need", Exit::device);
  SINK_CALL(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
}

void* end_recording() {
  cudaGraph_t graph = nullptr;
  SINK_CALL(cudaStreamEndCapture(stream(), &graph));
  cudaGraphExec_t ready = nullptr;
  cudaError_t made = retry_without_cache([&] { return cudaGraphInstantiate(&ready, graph, 0); });
  SINK_CALL(cudaGraphDestroy(graph));
  check(made, "cudaGraphInstantiate", __FILE__, __LINE__);
  release_cached_memory();  // that the same launches used before they were recorded
  return ready;
}

void run_recording(void* recording) {
  cudaError_t result =
      retry_without_cache([&] { return cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), stream()); });
  if (result == cudaErrorMemoryAllocation) throw OutOfMemory("out of memory of the GPU for work recorded as a graph");
  SINK_CALL(result);
}

// Called by destructors, so it does not throw.
void drop_recording(void* recording) {
  if (cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording)) != cudaSuccess) cudaGetLastError();
}

bool is_recording() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  SINK_CALL(cudaStreamIsCapturing(stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace sink::nvidia
