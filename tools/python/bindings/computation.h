// Computation: while one exists, this thread runs the engine and does not hold the GIL, so other Python threads run.
//
// The engine's loops and their scratch memory belong to one computation at a time, so a second one waits. Waiting and
// long computations react to Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

namespace sink::python {

class Computation {
 public:
  // Throws Error (Exit::usage) inside another Computation of this thread, that is, in a hook.
  Computation();
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

 private:
  nanobind::gil_scoped_release released_;
  std::unique_lock<std::timed_mutex> lock_;
};

// Runs Python's signal handlers. Throws python_error (KeyboardInterrupt) after Ctrl-C. For code in a Computation.
void check_signals();

}  // namespace sink::python
