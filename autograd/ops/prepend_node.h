// A learned row before every sequence, and its removal.
#pragma once

#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/prepend/prepend.h"

namespace sink {

struct PrependNode {
  Gradient dx_BTC;
  const Parameter* row;

  static constexpr const char* name = "prepend";
  void backward(const Tensor& dy) {
    auto [drow, accumulate] = row->var().gradient().target();
    Tensor dx = dy.new_empty({dy.dim(0), dy.dim(1) - 1, dy.dim(2)}, dy.dtype());
    prepend_backward(dy, dx, drow, accumulate);
    if (dx_BTC.requires_grad()) dx_BTC.accumulate(std::move(dx));
  }
};

// (B, T, C) to (B, 1 + T, C)
inline Var prepend(const Var& x_BTC, const Parameter& row_1C) {
  const Tensor& x = x_BTC.value();
  Tensor y = x.new_empty({x.dim(0), 1 + x.dim(1), x.dim(2)}, x.dtype());
  prepend(x, row_1C.master(), y);
  return record<PrependNode>(y, x_BTC.gradient(), &row_1C);
}

struct DropFirstNode : MovesElements<drop_first_backward> {
  static constexpr const char* name = "drop_first";
};

// (B, T, C) to (B, T - 1, C)
inline Var drop_first(const Var& x_BTC) {
  const Tensor& x = x_BTC.value();
  Tensor y = x.new_empty({x.dim(0), x.dim(1) - 1, x.dim(2)}, x.dtype());
  drop_first(x, y);
  return record<DropFirstNode>(y, x_BTC.gradient());
}

}  // namespace sink
