// Whether a test can start ranks: a build with sanitizers has no MPI, and a machine may have none.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/subprocess.h"

namespace sink {

inline bool has_mpi() {
  const bool has = std::system("command -v mpirun >/dev/null 2>&1") == 0 &&
                   std::filesystem::exists(program_path("libsinklab_mpi.so"));
  if (!has) MESSAGE("skipped: there is no MPI");
  return has;
}

}  // namespace sink
