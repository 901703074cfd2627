// The schedule and the race detector of the emulated device, for the lifetime of an object. They have no effect on a
// GPU.
#pragma once

#ifdef SINK_EMULATED
#include <cstdlib>

#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/races.h"
#endif

namespace sink::cuda {

// The order of threads: 0 in order, 1 in reverse, other values seed a random order. The environment variable
// SINK_SCHEDULE takes precedence.
class Schedule {
 public:
#ifdef SINK_EMULATED
  explicit Schedule(unsigned schedule) : before_(emulated::schedule()) {
    if (!std::getenv("SINK_SCHEDULE")) emulated::set_schedule(schedule);
  }
  ~Schedule() { emulated::set_schedule(before_); }
#else
  explicit Schedule(unsigned schedule) : before_(schedule) {}
#endif
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

 private:
  [[maybe_unused]] unsigned before_;
};

// A kernel whose threads race ends with an Error (engine/cuda/emulated/races.h). Slower, on one core.
class FindRaces {
 public:
#ifdef SINK_EMULATED
  FindRaces() : before_(emulated::finds_races()) { emulated::find_races(true); }
  ~FindRaces() { emulated::find_races(before_); }
#else
  FindRaces() : before_(false) {}
#endif
  FindRaces(const FindRaces&) = delete;
  FindRaces& operator=(const FindRaces&) = delete;

 private:
  [[maybe_unused]] bool before_;
};

}  // namespace sink::cuda
