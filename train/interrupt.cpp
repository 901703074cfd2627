#include "train/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace sink {
namespace {

std::atomic<int> stop_signal{0};
std::atomic<bool> save_wanted{false}, silent{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

void on_stop(int signal) {
  if (stop_signal.exchange(signal) != 0 && signal == SIGINT) ::_exit(128 + SIGINT);
  if (silent) return;
  int kept = errno;  // of the call that was interrupted
  constexpr char kMessage[] = "\nstopping: the run will be saved (Ctrl-C again leaves at once)\n";
  [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  errno = kept;
}

void on_save(int) { save_wanted = true; }

struct sigaction listen(int signal, void (*handler)(int)) {
  struct sigaction action = {}, old = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, &old);
  return old;
}

}  // namespace

InterruptGuard::InterruptGuard(Says says) {
  silent = says == Says::nothing;
  stop_signal = 0;  // before anybody can set them
  save_wanted = false;
  old_term_ = listen(SIGTERM, on_stop);
  old_int_ = listen(SIGINT, on_stop);
  old_hup_ = listen(SIGHUP, on_stop);
  if (old_hup_.sa_handler == SIG_IGN) ::sigaction(SIGHUP, &old_hup_, nullptr);
  old_usr1_ = listen(SIGUSR1, on_save);
  old_usr2_ = listen(SIGUSR2, on_stop);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGTERM, &old_term_, nullptr);
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGHUP, &old_hup_, nullptr);
  ::sigaction(SIGUSR1, &old_usr1_, nullptr);
  ::sigaction(SIGUSR2, &old_usr2_, nullptr);
  stop_signal = 0;  // what came was for the run that listened
  save_wanted = false;
}

int stop_requested() { return stop_signal; }

bool take_save_request() { return save_wanted.exchange(false); }

}  // namespace sink
