// While one lives, what this thread launches goes to another stream than the engine's: kernels that are part of a
// collective.
#pragma once

#ifdef __CUDACC__
#include "engine/cuda/nvidia/calls.h"
#else
#include <nccl_mock.h>
#include <stream_mock.h>

#include "engine/cuda/emulated/launches.h"
#endif

namespace sink {

class OnStream {
 public:
#ifdef __CUDACC__
  explicit OnStream(cudaStream_t stream) { nvidia::use_stream(stream); }
  ~OnStream() { nvidia::use_stream(nullptr); }
#else
  explicit OnStream(cudaStream_t stream) {
    emulated::put_launches([stream](std::function<void()> launch) { stream->queue(std::move(launch)); });
  }
  ~OnStream() { emulated::put_launches({}); }
#endif
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
};

}  // namespace sink
