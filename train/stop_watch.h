// StopWatch: looks for a signal to stop between the sections of a pass, so that a run of one process leaves soon even
// where a single forward or backward pass takes minutes.
#pragma once

#include "model/section_watch.h"
#include "train/interrupt.h"

namespace sink {

// A signal asks to stop: thrown out of a step or an evaluation, which is then dropped.
struct Stopped {
  int signal = 0;
};

struct StopWatch : SectionWatch {
  void forward_begins(std::int64_t) override { look(); }
  void backward_begins(std::int64_t) override { look(); }

 private:
  static void look() {
    if (const int signal = stop_requested()) throw Stopped{signal};
  }
};

}  // namespace sink
