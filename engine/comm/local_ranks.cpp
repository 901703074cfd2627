#include "engine/comm/local_ranks.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/check.h"
#include "engine/comm/rank_place.h"
#include "engine/comm/socket.h"

namespace sink {
namespace {

// A token that nobody guesses.
std::string drawn_token() {
  unsigned char bytes[16] = {};
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) fail("ranks", "the system has no random numbers");
  std::string token;
  for (unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte / 16];
    token += "0123456789abcdef"[byte % 16];
  }
  return token;
}

// The GPUs of a process that is one of several with ranks of their own begin behind those of the ones before it.
int first_local_rank(int ranks) { return rank_place().local_rank * ranks; }

[[noreturn]] void become_rank(int rank, int ranks, int local_listening, int port, const std::string& token,
                              const std::function<int()>& body, pid_t parent, const sigset_t& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  const int local_rank = first_local_rank(ranks) + rank;
  ::unsetenv(kAlone);
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(ranks));
  set("LOCAL_RANK", std::to_string(local_rank));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(port));
  set("SINKLAB_TOKEN", token);
  set("SINKLAB_LISTENING", std::to_string(local_listening));
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (!std::getenv("OMP_NUM_THREADS")) set("OMP_NUM_THREADS", std::to_string(std::max(1L, cores / ranks)));
  if (rank == 0) ::fcntl(local_listening, F_SETFD, 0);  // the one descriptor that outlives exec
  ::_exit(body());
}

// Signals come here one by one, by sigtimedwait.
sigset_t heard_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGUSR1}) ::sigaddset(&set, signal);
  return set;
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

int run_local_ranks(int ranks, const std::vector<std::string>& arguments, double patience) {
  return run_local_ranks(
      ranks,
      [&] {
        std::vector<char*> argv;
        for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        ::execv("/proc/self/exe", argv.data());
        std::fprintf(stderr, "cannot start a rank: %s\n", std::strerror(errno));
        return static_cast<int>(Exit::failure);
      },
      patience);
}

int run_local_ranks(int ranks, const std::function<int()>& body, double patience) {
  Socket listening = listen_on(0);
  const int port = port_of(listening);
  const std::string token = drawn_token();
  const sigset_t heard = heard_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &heard, &before);
  std::fflush(nullptr);

  std::vector<pid_t> children;
  const pid_t self = ::getpid();
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t child = ::fork();
    if (child == 0) become_rank(rank, ranks, listening.descriptor(), port, token, body, self, before);
    if (child < 0) {
      for (pid_t other : children) ::kill(other, SIGKILL);
      fail("ranks", "cannot start rank " + std::to_string(rank) + ": " + std::strerror(errno), Exit::failure);
    }
    children.push_back(child);
  }
  listening.close();

  int first_failure = 0;
  std::size_t running = children.size();
  bool mourning = false;
  Deadline end{};
  auto tell = [&](std::size_t rank, int signal) {
    if (children[rank] > 0) ::kill(children[rank], signal);
  };
  while (running > 0) {
    timespec pause{0, 200'000'000};
    const int signal = ::sigtimedwait(&heard, nullptr, &pause);
    // A terminal's Ctrl-C reaches the ranks themselves; one that was sent here alone asks for the same.
    if (signal == SIGTERM || signal == SIGHUP || signal == SIGINT) tell(0, SIGTERM);
    if (signal == SIGUSR1) tell(0, SIGUSR1);
    int status = 0;
    for (pid_t child; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      auto found = std::find(children.begin(), children.end(), child);
      if (found == children.end()) continue;
      --running;
      const int code = code_of(status);
      if (WIFSIGNALED(status))
        std::fprintf(stderr, "rank %ld was ended by signal %d (%s)\n", static_cast<long>(found - children.begin()),
                     WTERMSIG(status), ::strsignal(WTERMSIG(status)));
      *found = -1;
      if (code == 0) continue;
      if (first_failure == 0) first_failure = code;
      if (!mourning) end = deadline_in(patience);
      mourning = true;
    }
    if (mourning && running > 0 && seconds_until(end) == 0) {
      for (std::size_t rank = 0; rank < children.size(); ++rank) {
        if (children[rank] < 0) continue;
        std::fprintf(stderr, "rank %zu has not left %.0f s after another did: it is killed\n", rank, patience);
        tell(rank, SIGKILL);
      }
      end = deadline_in(patience);
    }
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return first_failure;
}

}  // namespace sink
