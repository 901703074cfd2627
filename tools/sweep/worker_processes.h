// Runs jobs in child processes, a few at a time: a job that crashes takes no other with it, and each has a fresh
// memory.
#pragma once

#include <cstddef>
#include <functional>

namespace sink {

struct JobEnd {
  std::size_t job = 0;
  int exit_code = 0;  // 128 + n where signal n ended it
  double seconds = 0;
};

// body(job) for every job in [0, jobs), in order, each in a process of its own that leaves with what it returns; at
// most `workers` at once. ended() is called here after each. SIGINT, SIGTERM and SIGHUP (unless it was ignored, as by
// nohup) end the children, and the signal is returned; else 0.
int run_in_processes(std::size_t jobs, std::size_t workers, const std::function<int(std::size_t)>& body,
                     const std::function<void(const JobEnd&)>& ended);

}  // namespace sink
