// y = f(x), of which the tape keeps only x: the backward pass runs f again and only then holds the intermediate values.
// Trades time for memory (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").
#pragma once

#include <functional>
#include <utility>

#include "autograd/record.h"

namespace sink {

struct RecomputeNode {
  Var x;
  std::function<Var(const Var&)> f;

  static constexpr const char* name = "recompute";
  void backward(Tensor dy) {
    Tape inside;
    Var y = f(x);
    y.gradient().accumulate(std::move(dy));  // its only holder, so that it may be added to in place
    inside.backward_from_outputs();
  }
};

// f(x). f is a function of x and of parameters, which outlive the tape; both runs give the same bits.
inline Var recompute(const Var& x, std::function<Var(const Var&)> f) {
  if (!recording_tape(x)) return f(x);
  Tensor y;
  {
    Tape::Pause pause;
    y = f(x).value();
  }
  return record<RecomputeNode>(std::move(y), x, std::move(f));
}

}  // namespace sink
