// A GPU has its own order; no schedule changes it.
#include "engine/cuda/schedules.h"

namespace sink::cuda {

Schedule::Schedule(unsigned schedule) : before_(schedule) {}

Schedule::~Schedule() = default;

FindRaces::FindRaces() = default;
FindRaces::~FindRaces() = default;

}  // namespace sink::cuda
