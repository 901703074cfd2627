#include "tools/sweep/worker_processes.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "engine/check.h"

namespace sink {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stop_signal = 0;
void on_signal(int signal) { stop_signal = signal; }
void on_child(int) {}

// Signals that are looked at in wait() alone, so that none arrives between a look and the wait after it.
class SignalGuard {
 public:
  SignalGuard() {
    stop_signal = 0;
    sigset_t heard;
    sigemptyset(&heard);
    for (Old& old : old_) {
      struct sigaction action {};
      action.sa_handler = old.signal == SIGCHLD ? on_child : on_signal;
      sigemptyset(&action.sa_mask);
      sigaction(old.signal, &action, &old.action);
      if (old.signal == SIGHUP && old.action.sa_handler == SIG_IGN) sigaction(SIGHUP, &old.action, nullptr);  // nohup
      sigaddset(&heard, old.signal);
    }
    sigprocmask(SIG_BLOCK, &heard, &mask_);
    open_ = mask_;
    for (const Old& old : old_) sigdelset(&open_, old.signal);
  }
  ~SignalGuard() {
    for (const Old& old : old_) sigaction(old.signal, &old.action, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  // Until a child ends or a signal arrives.
  void wait() const { ppoll(nullptr, 0, nullptr, &open_); }
  // In a child, which any of them ends; but for SIGHUP: the sweep hears it and sends SIGTERM.
  void restore_for_child() const {
    for (const Old& old : old_) std::signal(old.signal, old.signal == SIGHUP ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  struct Old {
    int signal;
    struct sigaction action {};
  };
  Old old_[4] = {{SIGINT}, {SIGTERM}, {SIGHUP}, {SIGCHLD}};
  sigset_t mask_, open_;
};

struct Child {
  std::size_t job;
  Clock::time_point start;
};

pid_t start(JobSource& jobs, std::size_t job, const SignalGuard& signals) {
  std::fflush(nullptr);
  pid_t parent = getpid(), child = fork();
  SINK_CHECK(child >= 0, "sweep", std::string("cannot start a process: ") + std::strerror(errno));
  if (child > 0) return child;
  signals.restore_for_child();
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // a sweep that is killed leaves no run training
  if (getppid() != parent) _exit(1);
  _exit(jobs.body(job));
}

// The source of run_in_processes without one of its own.
class CountedJobs : public JobSource {
 public:
  CountedJobs(std::size_t jobs, const std::function<int(std::size_t)>& body,
              const std::function<void(const JobEnd&)>& ended)
      : jobs_(jobs), body_(body), ended_(ended) {}
  bool next(std::size_t& job) override {
    if (next_ == jobs_) return false;
    job = next_++;
    return true;
  }
  int body(std::size_t job) override { return body_(job); }
  void ended(const JobEnd& end) override { ended_(end); }

 private:
  std::size_t jobs_, next_ = 0;
  const std::function<int(std::size_t)>& body_;
  const std::function<void(const JobEnd&)>& ended_;
};

}  // namespace

int run_in_processes(JobSource& jobs, std::size_t workers) {
  const SignalGuard signals;
  std::map<pid_t, Child> running;
  bool is_stopping = false;
  for (;;) {
    int status = 0;
    while (!running.empty()) {
      const pid_t child = waitpid(-1, &status, WNOHANG);
      if (child <= 0) break;
      const auto found = running.find(child);
      if (found == running.end()) continue;
      const Child ended = found->second;
      running.erase(found);
      const double seconds = std::chrono::duration<double>(Clock::now() - ended.start).count();
      if (!is_stopping)
        jobs.ended({ended.job, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), seconds});
    }
    if (stop_signal && !is_stopping) {
      for (const auto& [child, job] : running) kill(child, SIGTERM);
      is_stopping = true;
    }
    for (std::size_t job = 0; !is_stopping && running.size() < workers && jobs.next(job);)
      running[start(jobs, job, signals)] = {job, Clock::now()};
    if (running.empty()) return is_stopping ? stop_signal : 0;
    signals.wait();
  }
}

int run_in_processes(std::size_t jobs, std::size_t workers, const std::function<int(std::size_t)>& body,
                     const std::function<void(const JobEnd&)>& ended) {
  CountedJobs counted(jobs, body, ended);
  return run_in_processes(counted, workers);
}

}  // namespace sink
