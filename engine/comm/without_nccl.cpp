// Builds without NCCL's header.

#include "engine/comm/host_communicator.h"

namespace sink {

std::string nccl_refusal() {
  return "this build has no NCCL, which transfers tensors between GPUs; install it with the CUDA toolkit or NVIDIA's "
         "package libnccl-dev and build again";
}

std::unique_ptr<Communicator> device_communicator(std::unique_ptr<HostCommunicator>, double) {
  fail("ranks", nccl_refusal(), Exit::device);
}

}  // namespace sink
