// While an object lives, launches of this thread go to another stream: kernels that are part of a collective.
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
    emulated::enqueue_launches([stream](std::function<void()> launch) { stream->queue(std::move(launch)); });
  }
  ~OnStream() { emulated::enqueue_launches({}); }
#endif
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
};

}  // namespace sink
