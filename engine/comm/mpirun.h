// `--nproc N`: runs this program under mpirun on this machine.
#pragma once

#include <string>
#include <vector>

namespace sink {

// Runs `mpirun -n <ranks>` with this program and arguments[1], arguments[2], ... , waits for it and returns its exit
// code. SIGTERM, SIGINT and SIGHUP stop all ranks at the end of a step; the code is then 128 + the signal. SIGUSR1 is
// passed on. A second SIGINT ends the ranks at once. Throws Error (Exit::device) without mpirun or a build with MPI.
int run_mpirun(int ranks, const std::vector<std::string>& arguments);

}  // namespace sink
