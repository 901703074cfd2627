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

// Blocks the signals except inside wait(), so that none arrives between a check of stop_signal and the wait after it.
class SignalGuard {
 public:
  SignalGuard() {
    stop_signal = 0;
    sigset_t handled;
    sigemptyset(&handled);
    for (Saved& saved : saved_) {
      struct sigaction action {};
      action.sa_handler = saved.signal == SIGCHLD ? on_child : on_signal;
      sigemptyset(&action.sa_mask);
      sigaction(saved.signal, &action, &saved.action);
      if (saved.signal == SIGHUP && saved.action.sa_handler == SIG_IGN)
        sigaction(SIGHUP, &saved.action, nullptr);  // nohup
      sigaddset(&handled, saved.signal);
    }
    sigprocmask(SIG_BLOCK, &handled, &mask_);
    open_ = mask_;
    for (const Saved& saved : saved_) sigdelset(&open_, saved.signal);
  }
  ~SignalGuard() {
    for (const Saved& saved : saved_) sigaction(saved.signal, &saved.action, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  // Returns when a child ends or a signal arrives.
  void wait() const { ppoll(nullptr, 0, nullptr, &open_); }
  // Restores the default actions in a child. SIGHUP stays ignored: the parent handles it and sends SIGTERM.
  void restore_for_child() const {
    for (const Saved& saved : saved_) std::signal(saved.signal, saved.signal == SIGHUP ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  struct Saved {
    int signal;
    struct sigaction action {};
  };
  Saved saved_[4] = {{SIGINT}, {SIGTERM}, {SIGHUP}, {SIGCHLD}};
  sigset_t mask_, open_;
};

struct Child {
  std::size_t job;
  Clock::time_point start;
};

pid_t start(const JobCallbacks& jobs, std::size_t job, const SignalGuard& signals) {
  std::fflush(nullptr);
  pid_t parent = getpid(), child = fork();
  SINK_CHECK(child >= 0, "sweep", std::string("cannot start a process: ") + std::strerror(errno));
  if (child > 0) return child;
  signals.restore_for_child();
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // no run outlives a killed sweep
  if (getppid() != parent) _exit(1);
  _exit(jobs.body(job));
}

}  // namespace

int run_in_processes(const JobCallbacks& jobs, std::size_t workers) {
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
    while (!is_stopping && running.size() < workers) {
      const std::optional<std::size_t> job = jobs.next();
      if (!job) break;
      running[start(jobs, *job, signals)] = {*job, Clock::now()};
    }
    if (running.empty()) return is_stopping ? stop_signal : 0;
    signals.wait();
  }
}

}  // namespace sink
