// Runs jobs in child processes, a few at a time. A crash ends one job only, and every job starts with fresh memory.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace sink {

struct JobEnd {
  std::size_t job = 0;
  int exit_code = 0;  // 128 + n if signal n ended the process
  double seconds = 0;
};

struct JobCallbacks {
  // Returns a job that can start now, or nothing. Called again whenever a running job ends; if none runs, nothing means
  // that all jobs are done.
  std::function<std::optional<std::size_t>()> next;
  std::function<int(std::size_t)> body;  // runs in the child process; returns its exit code
  std::function<void(const JobEnd&)> ended;
};

// Runs all jobs, at most `workers` at once. SIGINT, SIGTERM and SIGHUP (unless ignored, as under nohup) terminate the
// children; then the signal is returned, otherwise 0.
int run_in_processes(const JobCallbacks& jobs, std::size_t workers);

}  // namespace sink
