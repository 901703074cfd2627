// Limits of time on a machine that does other work.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace sink::test {

// The seconds in which a busy machine does what an idle one does in `seconds`: longer by the processes that wait for
// each core, as the last minute's average says.
inline double patience(double seconds) {
  double processes = 0;
  if (getloadavg(&processes, 1) != 1) return seconds;
  return seconds * std::max(1.0, processes / std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace sink::test
