// Rotary position embedding of queries or keys; the gradient is rotated back.
#pragma once

#include "autograd/ops/heads_node.h"
#include "autograd/tape.h"
#include "engine/ops/rotary/rotary.h"

namespace sink {

struct RotaryNode : Node {
  Gradient dx_BHTD;
  RotaryTable table;

  const char* name() const override { return "rotary"; }
  void backward() override {
    Tensor dx = dx_BHTD.grad_buffer();
    rotary(output_grad(), table, /*inverse=*/true, dx);
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
    node.table = table;
  }
  return output;
}

struct SplitRotaryNode : Node {
  Gradient dqkv_BTE;
  RotaryTable table;

  const char* name() const override { return "split_rotary"; }
  void backward() override {
    Tensor dqkv = dqkv_BTE.grad_buffer();
    split_rotary_backward(output_grad(0), output_grad(1), output_grad(2), table, dqkv);
    dqkv_BTE.accumulate(std::move(dqkv));
  }
};

// split_heads (heads_node.h), with queries and keys rotated.
inline QueryKeyValue split_rotary(const Var& qkv_BTE, std::int64_t H, std::int64_t G, const RotaryTable& table) {
  const Tensor& qkv = qkv_BTE.value();
  auto [q, k, v] = empty_heads(qkv, H, G);
  split_rotary(qkv, table, q, k, v);
  Tape* tape = Tape::recording(qkv_BTE);
  QueryKeyValue parts{Var(q, tape), Var(k, tape), Var(v, tape)};
  if (tape) {
    auto& node = tape->add<SplitRotaryNode>(parts.q_BHTD, parts.k_BGTD, parts.v_BGTD);
    node.dqkv_BTE = qkv_BTE.gradient();
    node.table = table;
  }
  return parts;
}

}  // namespace sink
