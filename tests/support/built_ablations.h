// Which ablations the tests may ask for: a build can compile some of them only (SINK_ABLATION_SET, as the sanitizers'
// does). Its tests leave the others out, and say at their end how often.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "model/all_ablations.h"

namespace sink::test {

// False for an ablation that this build was told to leave out. In a build of all, one that is missing is a failure.
inline bool is_built(const std::string& name) {
  struct Count {
    int times = 0;
    ~Count() {
      if (times > 0)
        std::printf("note: left out %d times one of the %d ablations that are not in this build (SINK_ABLATION_SET)\n",
                    times, ablations_left_out());
    }
  };
  static Count left_out;
  for (const Ablation& ablation : all_ablations())
    if (ablation.name == name) return true;
  CHECK_MESSAGE(ablations_left_out() > 0, name, " is no ablation of this build, which has all");
  ++left_out.times;
  return false;
}

}  // namespace sink::test
