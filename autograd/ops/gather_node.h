// A larger tensor made of a parameter's numbers.
#pragma once

#include "autograd/parameter.h"
#include "autograd/tape.h"
#include "engine/ops/gather/gather.h"

namespace sink {

struct GatherNode : Node {
  Tensor index;
  const Parameter* p;

  const char* name() const override { return "gather"; }
  void backward() override {
    auto [dp, accumulate] = p->var().gradient().target();
    gather_backward(output_grad(), index, dp, accumulate);
  }
};

// y_n = p_{index(n)}, or 0 where the index is -1; y has `shape`, in the type of the master weights.
inline Var gather(const Parameter& p, const Tensor& index_I32, const Shape& shape) {
  Tensor y = p.master().new_empty(shape, p.master().dtype());
  gather(p.master(), index_I32, y);
  Tape* tape = Tape::recording(p.var());
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<GatherNode>(output);
    node.index = index_I32;
    node.p = &p;
  }
  return output;
}

}  // namespace sink
