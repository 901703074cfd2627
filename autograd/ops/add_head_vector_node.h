// One learned vector per head, added at every position.
#pragma once

#include "autograd/record.h"
#include "engine/ops/add_head_vector/add_head_vector.h"

namespace sink {

struct AddHeadVectorNode {
  Gradient do_BHTD, dv_HD;

  static constexpr const char* name = "add_head_vector";
  void backward(const Tensor& dy) {
    if (dv_HD.requires_grad()) {
      auto [dv, accumulate] = dv_HD.target();
      add_head_vector_backward(dy, dv, accumulate);
    }
    if (do_BHTD.requires_grad()) do_BHTD.accumulate(dy);
  }
};

// y_bhtd = o_bhtd + v_hd; v comes in the type of the master weights.
inline Var add_head_vector(const Var& o_BHTD, const Var& v_HD) {
  Tensor y = Tensor::empty_like(o_BHTD.value());
  add_head_vector(o_BHTD.value(), v_HD.value(), y);
  return record<AddHeadVectorNode>(y, o_BHTD.gradient(), v_HD.gradient());
}

}  // namespace sink
