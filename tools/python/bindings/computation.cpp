#include "tools/python/bindings/computation.h"

#include <chrono>

#include "engine/check.h"

namespace sink::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignalChecks{50};

std::timed_mutex& engine() {
  static std::timed_mutex mutex;
  return mutex;
}

thread_local bool computes = false;

}  // namespace

Computation::Computation() : lock_(engine(), std::defer_lock) {
  if (computes) throw Error("a hook cannot run a model: call it before or after the forward pass", Exit::usage);
  while (!lock_.try_lock_for(kBetweenSignalChecks)) check_signals();
  computes = true;
}

Computation::~Computation() { computes = false; }

void check_signals() {
  nanobind::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace sink::python
