// Computation: while one exists, this thread runs the engine and does not hold the GIL, so other Python threads run.
//
// The engine's loops and their scratch memory belong to one computation at a time, so a second one waits. Waiting and
// long computations react to Ctrl-C.
//
// A thread that takes the GIL while the interpreter ends is ended by Python in the middle of C++, which aborts the
// process. At exit the module therefore waits until no other thread computes; those that would continue sleep instead.
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
  // Counts the threads that will take the GIL again.
  struct Active {
    Active();
    ~Active();
  };

  Active active_;
  nanobind::gil_scoped_release released_;
  std::unique_lock<std::timed_mutex> lock_;
};

// Runs Python's signal handlers. Throws python_error (KeyboardInterrupt) after Ctrl-C. For code in a Computation, which
// calls it before it takes the GIL.
void check_signals();

// Registers what has to happen when the interpreter ends.
void add_exit_handler();

}  // namespace sink::python
