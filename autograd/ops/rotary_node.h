// Rotary position embedding of queries or keys; the gradient is rotated back.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/rotary/rotary.h"

namespace sink {

struct RotaryNode : Node {
  Gradient dx_BHTD;
  const RotaryTable* table;

  const char* name() const override { return "rotary"; }
  void backward() override {
    Tensor dx = dx_BHTD.room();
    rotary(output_grad(), *table, /*inverse=*/true, dx);
    dx_BHTD.accumulate(std::move(dx));
  }
};

inline Var rotary(const Var& x_BHTD, const RotaryTable& table) {
  Tensor y = Tensor::empty_like(x_BHTD.value());
  rotary(x_BHTD.value(), table, /*inverse=*/false, y);
  Tape* tape = Tape::recording(x_BHTD);
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<RotaryNode>(output);
    node.dx_BHTD = x_BHTD.gradient();
    node.table = &table;
  }
  return output;
}

}  // namespace sink
