// Loads the library with MPI's links (engine/comm/mpi/) in a process that MPI has started.
#pragma once

#include <memory>

#include "engine/comm/links.h"

namespace sink {

// Throws Error (Exit::device), which says what to install, where this build has no MPI.
void require_mpi_library();
// Initializes MPI. A collective that takes longer than `time_out` seconds throws. A process that exits before the links
// are destroyed aborts all ranks with its exit code. Throws Error (Exit::device) where the library cannot be loaded.
std::unique_ptr<Links> mpi_links(double time_out);

}  // namespace sink
