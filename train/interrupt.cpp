#include "train/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace sink {
namespace {

constexpr std::array kListened{SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGUSR2};

std::atomic<int> stop_signal{0};
std::atomic<bool> save_wanted{false}, silent{false};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

std::int64_t now_ms() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// `timeout -s INT` sends the signal to the program and to its group, a moment apart: that is one wish to stop, not two.
constexpr std::int64_t kOneWishMs = 300;
std::atomic<std::int64_t> stopped_at_ms{0};  // 0: not yet

void on_stop(int signal) {
  std::int64_t now = now_ms(), first = 0;
  bool again = !stopped_at_ms.compare_exchange_strong(first, now);
  if (again && signal == SIGINT && now - first > kOneWishMs) ::_exit(128 + SIGINT);
  stop_signal = signal;
  if (again || silent) return;
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
  stopped_at_ms = 0;
  save_wanted = false;
  for (std::size_t i = 0; i < old_.size(); ++i)
    old_[i] = listen(kListened[i], kListened[i] == SIGUSR1 ? on_save : on_stop);
  if (old_[0].sa_handler == SIG_IGN) ::sigaction(SIGHUP, &old_[0], nullptr);
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < old_.size(); ++i) ::sigaction(kListened[i], &old_[i], nullptr);
  stop_signal = 0;  // what came was for the run that listened
  stopped_at_ms = 0;
  save_wanted = false;
}

int stop_requested() { return stop_signal; }

bool take_save_request() { return save_wanted.exchange(false); }

}  // namespace sink
