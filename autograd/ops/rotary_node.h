// Rotary position embedding of queries or keys; the gradient is rotated back.
#pragma once

#include "autograd/ops/heads_node.h"
#include "autograd/record.h"
#include "engine/ops/rotary/rotary.h"

namespace sink {

struct RotaryNode {
  Gradient dx_BHTD;
  RotaryTable table;

  static constexpr const char* name = "rotary";
  void backward(const Tensor& dy) {
    Tensor dx = dx_BHTD.grad_buffer();
    rotary(dy, table, /*inverse=*/true, dx);
    dx_BHTD.accumulate(std::move(dx));
  }
};

inline Var rotary(const Var& x_BHTD, const RotaryTable& table) {
  Tensor y = Tensor::empty_like(x_BHTD.value());
  rotary(x_BHTD.value(), table, /*inverse=*/false, y);
  return record<RotaryNode>(y, x_BHTD.gradient(), table);
}

struct SplitRotaryNode {
  Gradient dqkv_BTE;
  RotaryTable table;

  static constexpr const char* name = "split_rotary";
  void backward(const Tensor& dq, const Tensor& dk, const Tensor& dv) {
    Tensor dqkv = dqkv_BTE.grad_buffer();
    split_rotary_backward(dq, dk, dv, table, dqkv);
    dqkv_BTE.accumulate(std::move(dqkv));
  }
};

// split_heads (heads_node.h), with queries and keys rotated.
inline QueryKeyValue split_rotary(const Var& qkv_BTE, std::int64_t H, std::int64_t G, const RotaryTable& table) {
  const Tensor& qkv = qkv_BTE.value();
  auto [q, k, v] = empty_heads(qkv, H, G);
  split_rotary(qkv, table, q, k, v);
  auto [q_var, k_var, v_var] = record<SplitRotaryNode>(std::array{q, k, v}, qkv_BTE.gradient(), table);
  return {q_var, k_var, v_var};
}

}  // namespace sink
