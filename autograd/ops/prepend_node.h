// A learned row before every sequence, and its removal.
#pragma once

#include "autograd/parameter.h"
#include "autograd/tape.h"
#include "engine/ops/prepend/prepend.h"

namespace sink {

struct PrependNode : Node {
  Gradient dx_BTC;
  const Parameter* row;

  const char* name() const override { return "prepend"; }
  void backward() override {
    auto [drow, accumulate] = row->var().gradient().target();
    const Tensor& dy = output_grad();
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
  Tape* tape = Tape::recording(x_BTC, row_1C.var());
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<PrependNode>(output);
    node.dx_BTC = x_BTC.gradient();
    node.row = &row_1C;
  }
  return output;
}

struct DropFirstNode : Node {
  Gradient dx_BTC;

  const char* name() const override { return "drop_first"; }
  void backward() override {
    Tensor dx = dx_BTC.grad_buffer();
    drop_first_backward(output_grad(), dx);
    dx_BTC.accumulate(std::move(dx));
  }
};

// (B, T, C) to (B, T - 1, C)
inline Var drop_first(const Var& x_BTC) {
  const Tensor& x = x_BTC.value();
  Tensor y = x.new_empty({x.dim(0), x.dim(1) - 1, x.dim(2)}, x.dtype());
  drop_first(x, y);
  Tape* tape = Tape::recording(x_BTC);
  Var output(std::move(y), tape);
  if (tape) tape->add<DropFirstNode>(output).dx_BTC = x_BTC.gradient();
  return output;
}

}  // namespace sink
