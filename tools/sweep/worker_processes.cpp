#include "tools/sweep/worker_processes.h"

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
void note_signal(int signal) { stop_signal = signal; }

// waitpid comes back with EINTR when one of them arrives.
class StopGuard {
 public:
  StopGuard() {
    stop_signal = 0;
    struct sigaction action {};
    action.sa_handler = note_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
    sigaction(SIGHUP, &action, &old_hup_);
    if (old_hup_.sa_handler == SIG_IGN) sigaction(SIGHUP, &old_hup_, nullptr);  // nohup
  }
  ~StopGuard() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
    sigaction(SIGHUP, &old_hup_, nullptr);
  }
  StopGuard(const StopGuard&) = delete;
  StopGuard& operator=(const StopGuard&) = delete;

 private:
  struct sigaction old_int_, old_term_, old_hup_;
};

struct Child {
  std::size_t job;
  Clock::time_point start;
};

pid_t start(const std::function<int(std::size_t)>& body, std::size_t job) {
  std::fflush(nullptr);
  pid_t parent = getpid(), child = fork();
  SINK_CHECK(child >= 0, "sweep", std::string("cannot start a process: ") + std::strerror(errno));
  if (child > 0) return child;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_IGN);      // the sweep hears it and sends SIGTERM
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nothing goes on behind the back of somebody who killed the sweep
  if (getppid() != parent) _exit(1);
  _exit(body(job));
}

}  // namespace

int run_in_processes(std::size_t jobs, std::size_t workers, const std::function<int(std::size_t)>& body,
                     const std::function<void(const JobEnd&)>& ended) {
  StopGuard listening;
  std::map<pid_t, Child> running;
  std::size_t next = 0;
  while (next < jobs || !running.empty()) {
    while (!stop_signal && next < jobs && running.size() < workers) {
      pid_t child = start(body, next);
      running[child] = {next++, Clock::now()};
    }
    if (stop_signal) {
      for (const auto& [child, job] : running) kill(child, SIGTERM);
      for (const auto& [child, job] : running) {
        while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
      }
      return stop_signal;
    }
    int status = 0;
    pid_t child = waitpid(-1, &status, 0);
    auto found = running.find(child);
    if (found == running.end()) continue;  // a signal
    double seconds = std::chrono::duration<double>(Clock::now() - found->second.start).count();
    ended({found->second.job, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), seconds});
    running.erase(found);
  }
  return 0;
}

}  // namespace sink
