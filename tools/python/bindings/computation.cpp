#include "tools/python/bindings/computation.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "engine/check.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kBetweenChecks{50};
constexpr std::chrono::seconds kLongestBlock{60};  // of a forward pass, after which a thread looks whether to stop

thread_local bool computes = false;
std::atomic<int> active_threads{0};
std::atomic<bool> ends{false};

std::timed_mutex& engine() {
  // Never destroyed: a thread that sleeps at exit may hold it.
  static std::timed_mutex* mutex = [] {
    static auto* made = new std::timed_mutex;
    // A child of fork() has one thread, which would wait forever for a computation of another thread of its parent.
    pthread_atfork(nullptr, nullptr, [] {
      active_threads = computes ? 1 : 0;
      if (!computes) new (made) std::timed_mutex;
    });
    return made;
  }();
  return *mutex;
}

void sleep_if_interpreter_ends() {
  if (!ends) return;
  --active_threads;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));  // until the process has ended
}

void end_computations() {
  ends = true;
  nb::gil_scoped_release released;  // for threads that finish
  const auto give_up = std::chrono::steady_clock::now() + kLongestBlock;
  while (active_threads > 0 && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

Computation::Active::Active() {
  if (computes) throw Error("a hook cannot run a model: call it before or after the forward pass", Exit::usage);
  ++active_threads;
}

Computation::Active::~Active() { --active_threads; }

Computation::Computation() : lock_(engine(), std::defer_lock) {
  do check_signals();
  while (!lock_.try_lock_for(kBetweenChecks));
  computes = true;
}

Computation::~Computation() {
  computes = false;
  sleep_if_interpreter_ends();
}

void check_signals() {
  sleep_if_interpreter_ends();
  nb::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void add_exit_handler() { nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_computations)); }

}  // namespace sink::python
