// The attention operation Sparsemax.
#pragma once

#include "engine/ops/attention/op/relu.h"

namespace sink {

struct Sparsemax : SumsToOne<Relu> {
  OperationFormula formula() const {
    return {.whole = "max(s - m, 0), with the threshold m at which a row sums to one",
            .g = "max(x, 0)",
            .r = "g'",
            .m = "threshold",
            .proposed_by = "Martins and Astudillo 2016"};
  }
  static constexpr Shift shift = Shift::threshold;
  template <class R>
  SINK_HD static R threshold_start(R s) {
    return s - R(1);
  }
};

}  // namespace sink
