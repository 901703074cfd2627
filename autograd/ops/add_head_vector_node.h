// One learned vector per head, added at every position.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/add_head_vector/add_head_vector.h"

namespace sink {

struct AddHeadVectorNode : Node {
  Gradient do_BHTD, dv_HD;

  const char* name() const override { return "add_head_vector"; }
  void backward() override {
    if (dv_HD.requires_grad()) {
      auto [dv, accumulate] = dv_HD.target();
      add_head_vector_backward(output_grad(), dv, accumulate);
    }
    if (do_BHTD.requires_grad()) do_BHTD.accumulate(output_grad());
  }
};

// y_bhtd = o_bhtd + v_hd; v comes in the type of the master weights.
inline Var add_head_vector(const Var& o_BHTD, const Var& v_HD) {
  Tensor y = Tensor::empty_like(o_BHTD.value());
  add_head_vector(o_BHTD.value(), v_HD.value(), y);
  Tape* tape = Tape::recording(o_BHTD, v_HD);
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<AddHeadVectorNode>(output);
    node.do_BHTD = o_BHTD.gradient();
    node.dv_HD = v_HD.gradient();
  }
  return output;
}

}  // namespace sink
