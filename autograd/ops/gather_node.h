// A larger tensor made of a parameter's elements.
#pragma once

#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/gather/gather.h"

namespace sink {

struct GatherNode {
  Tensor index;
  const Parameter* p;

  static constexpr const char* name = "gather";
  void backward(const Tensor& dy) {
    auto [dp, accumulate] = p->var().gradient().target();
    gather_backward(dy, index, dp, accumulate);
  }
};

// y_n = p_{index(n)}, or 0 where the index is -1; y has `shape`, in the type of the master weights.
inline Var gather(const Parameter& p, const Tensor& index_I32, const Shape& shape) {
  Tensor y = p.master().new_empty(shape, p.master().dtype());
  gather(p.master(), index_I32, y);
  return record<GatherNode>(y, index_I32, &p);
}

}  // namespace sink
