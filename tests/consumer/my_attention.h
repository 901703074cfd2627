// A file of a project that uses Sinklab: op_sigmoid_none written again, so that the test can compare the two.
#pragma once

#include "model/ablations.h"

namespace sink::ablations {

struct mine : baseline {
  struct Attention : AttentionOpDefaults {
    SINK_HD static auto g(auto x) { return logistic_fast(x); }
  };
};

}  // namespace sink::ablations
