// Runs jobs in child processes, a few at a time: a job that crashes takes no other with it, and each has a fresh
// memory.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace sink {

struct JobEnd {
  std::size_t job = 0;
  int exit_code = 0;  // 128 + n where signal n ended it
  double seconds = 0;
};

// The jobs, one after another, as they can start.
class JobSource {
 public:
  virtual ~JobSource() = default;

  // Gives the next job; false where none can start now. It is asked again when a running job has ended; when none runs,
  // that is all.
  virtual bool next(std::size_t& job) = 0;
  // Runs in a process of its own, which exits with what it returns.
  virtual int body(std::size_t job) = 0;
  virtual void ended(const JobEnd& end) = 0;
};

// Runs all of them, at most `workers` at once. SIGINT, SIGTERM and SIGHUP (unless it was ignored, as by nohup) end the
// children; they are waited for, and the signal is returned, else 0.
int run_in_processes(JobSource& jobs, std::size_t workers);

// body(job) for every job in [0, jobs), in order.
int run_in_processes(std::size_t jobs, std::size_t workers, const std::function<int(std::size_t)>& body,
                     const std::function<void(const JobEnd&)>& ended);

}  // namespace sink
