#include "tools/python/bindings/computation.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/check.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kBetweenChecks{50};
constexpr std::chrono::seconds kLongestBlock{60};  // of a forward pass, after which a thread looks whether to stop

std::timed_mutex& engine() {
  static std::timed_mutex mutex;
  return mutex;
}

thread_local bool computes = false;
std::atomic<int> active_threads{0};
std::atomic<bool> ends{false};

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
