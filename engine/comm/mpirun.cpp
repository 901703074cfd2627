#include "engine/comm/mpirun.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "engine/check.h"
#include "engine/comm/launcher.h"
#include "engine/comm/mpi_library.h"

namespace sink {
namespace {

bool is_installed(const std::string& program) {
  const char* variable = std::getenv("PATH");
  const std::string path = variable ? variable : "";
  for (std::size_t begin = 0, end; begin <= path.size(); begin = end + 1) {
    end = std::min(path.find(':', begin), path.size());
    if (::access((path.substr(begin, end - begin) + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// More ranks than cores, by root, and bound to no core: threads are bound by the engine.
void set_environment(int ranks) {
  const int first_local_rank = local_rank() * ranks;
  become_single_process();
  for (const char* name :
       {"OMPI_MCA_rmaps_base_oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"})
    ::setenv(name, "1", 1);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  ::setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 1);
  ::setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
  ::setenv(kFirstLocalRank, std::to_string(first_local_rank).c_str(), 1);
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  ::setenv("OMP_NUM_THREADS", std::to_string(std::max(1L, cores / ranks)).c_str(), 0);
}

using Clock = std::chrono::steady_clock;
// `timeout -s INT` sends the signal twice, a moment apart: that is one wish to stop (train/interrupt.cpp).
constexpr std::chrono::milliseconds kOneWish{300};

bool is_ignored(int signal) {
  struct sigaction now;
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// Blocked signals come one by one, by sigwaitinfo. SIGHUP does not if it was ignored before (nohup). SIGCHLD does, even
// if a daemon that ignores it started this program.
sigset_t signals_to_hear() {
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t heard;
  ::sigemptyset(&heard);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT, SIGUSR1}) ::sigaddset(&heard, signal);
  if (!is_ignored(SIGHUP)) ::sigaddset(&heard, SIGHUP);
  return heard;
}

[[noreturn]] void become_mpirun(int ranks, const std::vector<std::string>& arguments, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);
  ::setpgid(0, 0);  // a terminal's Ctrl-C comes to the parent alone: mpirun would kill the ranks
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  set_environment(ranks);
  std::vector<std::string> words{"mpirun", "-n", std::to_string(ranks),
                                 std::filesystem::read_symlink("/proc/self/exe")};
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  std::fprintf(stderr, "error: cannot start mpirun: %s\n", std::strerror(errno));
  ::_exit(static_cast<int>(Exit::failure));
}

}  // namespace

int run_mpirun(int ranks, const std::vector<std::string>& arguments) {
  if (!is_installed("mpirun"))
    fail("ranks",
         "ranks are started by mpirun, which is not installed: install openmpi-bin and libopenmpi-dev (bash "
         "tools/setup.sh --cluster) and build again",
         Exit::device);
  require_mpi_library();
  const sigset_t heard = signals_to_hear();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &heard, &before);
  std::fflush(nullptr);
  const pid_t self = ::getpid(), child = ::fork();
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    become_mpirun(ranks, arguments, self);
  }
  SINK_CHECK(child > 0, "ranks", std::string("cannot start mpirun: ") + std::strerror(errno));
  int stop = 0, status = 0;
  bool told_to_save = false;
  Clock::time_point stopped_at;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const int signal = ::sigwaitinfo(&heard, nullptr);
    if (signal == SIGUSR1) {
      told_to_save = true;
      ::kill(child, SIGUSR1);
    }
    if (signal != SIGTERM && signal != SIGHUP && signal != SIGINT) continue;
    // At a SIGTERM mpirun kills the ranks. SIGUSR2 it passes on, and they stop by it (train/interrupt.h).
    const bool at_once = stop != 0 && signal == SIGINT && Clock::now() - stopped_at >= kOneWish;
    ::kill(child, at_once ? SIGTERM : SIGUSR2);
    if (stop != 0) continue;
    stop = signal;
    stopped_at = Clock::now();
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (stop != 0 && code != 0) {  // the ranks print where they stopped, but may not have begun
    std::fprintf(stderr, "stopped by signal %d, which the ranks get as signal %d\n", stop, SIGUSR2);
    return 128 + stop;
  }
  if (told_to_save && code == 128 + SIGUSR1)
    std::fprintf(stderr, "error: signal %d, which asks for a checkpoint, came before training began: start again\n",
                 SIGUSR1);
  else if (WIFSIGNALED(status))
    std::fprintf(stderr, "error: mpirun was ended by signal %d\n", WTERMSIG(status));
  return code;
}

}  // namespace sink
