// Recordings as CUDA graphs. What is asked for and freed meanwhile (cudaMallocAsync, cudaFreeAsync) becomes part of the
// graph, at addresses that stay the same; a graph has memory of its own.
#include "engine/cuda/device.cuh"
#include "engine/cuda/nvidia/calls.h"
#include "engine/cuda/nvidia/graph.h"

namespace sink::nvidia {

using cuda::stream;

void begin_recording() { SINK_CALL(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal)); }

void* end_recording() {
  cudaGraph_t graph = nullptr;
  SINK_CALL(cudaStreamEndCapture(stream(), &graph));
  cudaGraphExec_t ready = nullptr;
  SINK_CALL(cudaGraphInstantiate(&ready, graph, 0));
  SINK_CALL(cudaGraphDestroy(graph));
  give_back_kept();  // which the same launches took before they were recorded
  return ready;
}

void run_recording(void* recording) {
  auto launch = [&] { return cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), stream()); };
  cudaError_t result = launch();
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    give_back_kept();
    result = launch();
    if (result == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory("[cuda] out of memory of the GPU for work recorded as a graph");
    }
  }
  SINK_CALL(result);
}

// Called by destructors, as memory's release is.
void drop_recording(void* recording) {
  if (cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording)) != cudaSuccess) cudaGetLastError();
}

bool is_recording() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  SINK_CALL(cudaStreamIsCapturing(stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace sink::nvidia
