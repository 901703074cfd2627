// y = f(x) of which the tape keeps x alone: the backward pass runs f once more, and only then has what lies between.
// Memory for time (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").
#pragma once

#include <functional>
#include <utility>

#include "autograd/tape.h"

namespace sink {

struct RecomputeNode : Node {
  Var x;
  std::function<Var(const Var&)> f;

  const char* name() const override { return "recompute"; }
  void backward() override {
    Tape inside;
    Var y = f(x);
    y.gradient().accumulate(output_grad());
    outputs[0].clear();  // so that one tensor holds it, which may be added to in place
    inside.backward_from_outputs();
  }
};

// f(x). f is a function of x and of parameters, which outlive the tape; both runs give the same bits.
inline Var recompute(const Var& x, std::function<Var(const Var&)> f) {
  Tape* tape = Tape::recording(x);
  if (!tape) return f(x);
  Tensor y;
  {
    Tape::Pause pause;
    y = f(x).value();
  }
  Var output(y, true);
  auto& node = tape->add<RecomputeNode>(output);
  node.x = x;
  node.f = std::move(f);
  return output;
}

}  // namespace sink
