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

// The jobs, one after another, as they can be begun.
class JobSource {
 public:
  virtual ~JobSource() = default;

  enum class Next {
    job,
    later,  // none now: ask again after a moment
    none,   // ask again when one of those that run has ended; when none runs, that is all
  };
  virtual Next next(std::size_t& job) = 0;
  // In a process of its own, which leaves with what it returns.
  virtual int body(std::size_t job) = 0;
  virtual void ended(const JobEnd& end) = 0;
  // Every moment, while signals end the jobs, too. Returns those that are to be killed at once.
  virtual std::vector<std::size_t> look() { return {}; }
};

// All of them, at most `workers` at once; `moment` in seconds. SIGINT, SIGTERM and SIGHUP (unless it was ignored, as by
// nohup) end the children and wait for them, and the signal is returned; else 0.
int run_in_processes(JobSource& jobs, std::size_t workers, double moment = 1);

// body(job) for every job in [0, jobs), in order.
int run_in_processes(std::size_t jobs, std::size_t workers, const std::function<int(std::size_t)>& body,
                     const std::function<void(const JobEnd&)>& ended);

}  // namespace sink
