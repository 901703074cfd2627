// For tests: the order in which the emulated device runs threads, and whether it looks for races. A GPU has its own
// order.
#pragma once

namespace sink::cuda {

// While it lives, kernels run by this schedule: 0 in order, 1 in reverse, others random by that seed. The variable
// SINK_SCHEDULE, where it is set, decides instead.
class Schedule {
 public:
  explicit Schedule(unsigned schedule);
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

 private:
  unsigned before_;
};

// While it lives, a kernel whose threads race ends with an Error (engine/cuda/emulated/races.h); slower, on one core. A
// GPU does not look.
class FindRaces {
 public:
  FindRaces();
  ~FindRaces();
  FindRaces(const FindRaces&) = delete;
  FindRaces& operator=(const FindRaces&) = delete;

 private:
  bool before_ = false;
};

}  // namespace sink::cuda
