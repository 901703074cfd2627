// For tests: the order in which the emulated device runs threads. A GPU has its own.
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

}  // namespace sink::cuda
