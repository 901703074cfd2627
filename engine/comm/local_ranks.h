// `--nproc N`: starts the ranks of a run on this machine, processes of this same program, and waits for them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sink {

// Starts `ranks` processes of `arguments` (the program first), which find in their environment which rank they are
// (engine/comm/rank_place.h), and returns the exit code of the first that failed, 0 where none did. SIGTERM and SIGHUP
// go on to rank 0, and through it to all at the end of a step, as does SIGUSR1; a rank that ends early is mourned by
// the others, which leave by themselves: those that have not after `patience` seconds are killed.
int run_local_ranks(int ranks, const std::vector<std::string>& arguments, double patience);

// The same of body() in processes that are forked, of which each leaves with what it returns. Nothing of the engine may
// have run before.
int run_local_ranks(int ranks, const std::function<int()>& body, double patience);

}  // namespace sink
