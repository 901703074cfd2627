// Signals a training run listens to: SIGTERM, SIGINT, SIGHUP (its terminal closed) and SIGUSR2 (which mpirun forwards;
// on the others it kills the ranks) ask it to save and leave, SIGUSR1 to save and continue. The handlers only set
// flags. A run reads them after each step, between validation batches and between the operations of forward and
// backward; several CPU processes and a GPU between micro-batches.
#pragma once

#include <array>
#include <csignal>

namespace sink {

// Listens while it lives; not to a SIGHUP that was ignored before (nohup). A SIGINT that comes 0.3 s or more after
// another signal leaves at once with 130.
class InterruptGuard {
 public:
  // Whether a signal is reported to the user.
  enum class Says { nothing, what_comes };
  explicit InterruptGuard(Says says = Says::what_comes);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  std::array<struct sigaction, 5> old_;  // what each signal did before
};

// The signal that asked to stop while a guard lives, 0 if none did; the program then leaves with 128 + it.
int stop_requested();

// Whether SIGUSR1 came since the last call.
bool take_save_request();

}  // namespace sink
