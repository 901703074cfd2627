// Ranks of a run on a device: tensors go from device to device by NCCL, small things of the host by its own links.
#pragma once

#include <memory>

#include "engine/comm/host_communicator.h"

namespace sink {

// Takes the ranks of the host to those of their devices. `time_out`: seconds in which a collective must be done.
// Throws Error (Exit::device) where this build has no NCCL, or NCCL fails.
std::unique_ptr<Communicator> device_communicator(std::unique_ptr<HostCommunicator> host, double time_out);

}  // namespace sink
