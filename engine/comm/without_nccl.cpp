// Builds without NCCL.
#include "engine/comm/device_communicator.h"

namespace sink {

std::unique_ptr<Communicator> device_communicator(std::unique_ptr<HostCommunicator>, double) {
  fail(
      "ranks",
      "this build has no NCCL, which takes tensors from GPU to GPU; it comes with the CUDA toolkit or NVIDIA's package "
      "libnccl-dev: install it and build anew",
      Exit::device);
}

}  // namespace sink
