// The schedules that tests ask for, on the emulated device.
#include <cstdlib>

#include "engine/cuda/emulated/block.h"
#include "engine/cuda/emulated/races.h"
#include "engine/cuda/schedules.h"

namespace sink::cuda {

Schedule::Schedule(unsigned schedule) : before_(emulated::schedule()) {
  if (!std::getenv("SINK_SCHEDULE")) emulated::set_schedule(schedule);
}

Schedule::~Schedule() { emulated::set_schedule(before_); }

FindRaces::FindRaces() : before_(emulated::finds_races()) { emulated::find_races(true); }
FindRaces::~FindRaces() { emulated::find_races(before_); }

}  // namespace sink::cuda
