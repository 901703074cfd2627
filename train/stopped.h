// What a step or an evaluation throws where a signal asks to stop: it is dropped, and the run is saved as it was
// before.
#pragma once

namespace sink {

struct Stopped {
  int signal = 0;
};

}  // namespace sink
