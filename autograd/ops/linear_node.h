// y = x W^T with a learned W (no bias). Backward: dx = dy W, dW = dy^T x.
#pragma once

#include "autograd/parameter.h"
#include "autograd/tape.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/stored_product/stored_product.h"

namespace sink {

struct LinearNode : Node {
  Var x;
  const Parameter* weight;

  const char* name() const override { return "linear"; }
  void backward() override {
    const Tensor& dy = output_grad();
    auto [dw, accumulate_dw] = weight->var().gradient().target();
    matmul(transposed(dy), {x.value()}, dw, accumulate_dw);
    if (!x.requires_grad()) return;
    auto [dx, accumulate_dx] = x.gradient().target();
    matmul({dy}, {weight->compute()}, dx, accumulate_dx);
  }
};

// y = x W^T alone, whether W is a tensor or lies in a file.
inline void product(const Tensor& x, const Parameter& weight, Tensor& y) {
  if (weight.stored())
    stored_product(x, *weight.stored(), y);
  else
    matmul({x}, transposed(weight.compute()), y);
}

// x: (..., in), weight: (out, in); y: (..., out) in the type of x.
inline Var linear(const Var& x, const Parameter& weight) {
  Shape shape = x.value().shape();
  shape[-1] = weight.info().shape[0];
  Tensor y = x.value().new_empty(shape, x.value().dtype());
  product(x.value(), weight, y);
  Tape* tape = Tape::recording(x, weight.var());
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<LinearNode>(output);
    node.x = x;
    node.weight = &weight;
  }
  return output;
}

}  // namespace sink
