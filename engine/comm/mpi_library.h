// The library that has MPI's links (engine/comm/mpi/), loaded where MPI has started this process.
#pragma once

#include <memory>

#include "engine/comm/links.h"

namespace sink {

// Throws Error (Exit::device), which says what to install, where this build has no MPI.
void require_mpi_library();
// Begins MPI. A collective that takes longer than `time_out` seconds throws. A process that exits before the links are
// destroyed ends all ranks, with its exit code. Throws Error (Exit::device) where the library cannot be loaded.
std::unique_ptr<Links> mpi_links(double time_out);

}  // namespace sink
