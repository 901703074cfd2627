// The library that has MPI's links (engine/comm/mpi/), loaded where MPI has started this process.
#pragma once

#include <memory>

#include "engine/comm/links.h"

namespace sink {

// Whether this build has it.
bool has_mpi_library();
// Joins MPI's ranks. Throws Error (Exit::device) where there is no such library or it cannot be loaded.
std::unique_ptr<Links> mpi_links(double time_out);

}  // namespace sink
