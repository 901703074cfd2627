// Splits a projection into the heads of queries, keys and values, and joins the heads of the output.
#pragma once

#include "autograd/record.h"
#include "engine/ops/heads/heads.h"

namespace sink {

struct SplitHeadsNode : MovesElements<split_heads_backward> {
  static constexpr const char* name = "split_heads";
};

struct QueryKeyValue {
  Var q_BHTD, k_BGTD, v_BGTD;
};

// Uninitialized tensors for the heads of qkv (B, T, (H + 2 G) D): queries, keys and values.
struct HeadTensors {
  Tensor q_BHTD, k_BGTD, v_BGTD;
};
inline HeadTensors empty_heads(const Tensor& qkv, std::int64_t H, std::int64_t G) {
  std::int64_t B = qkv.dim(0), T = qkv.dim(1), D = qkv.dim(2) / (H + 2 * G);
  Tensor k = qkv.new_empty({B, G, T, D}, qkv.dtype());
  return {qkv.new_empty({B, H, T, D}, qkv.dtype()), k, Tensor::empty_like(k)};
}

// qkv: (B, T, (H + 2 G) D), with H query heads and G heads of keys and values.
inline QueryKeyValue split_heads(const Var& qkv_BTE, std::int64_t H, std::int64_t G) {
  const Tensor& qkv = qkv_BTE.value();
  auto [q, k, v] = empty_heads(qkv, H, G);
  split_heads(qkv, q, k, v);
  auto [q_var, k_var, v_var] = record<SplitHeadsNode>(std::array{q, k, v}, qkv_BTE.gradient());
  return {q_var, k_var, v_var};
}

struct MergeHeadsNode : MovesElements<merge_heads_backward> {
  static constexpr const char* name = "merge_heads";
};

// (B, H, T, D) to (B, T, H D)
inline Var merge_heads(const Var& o_BHTD) {
  const Tensor& o = o_BHTD.value();
  Tensor merged = o.new_empty({o.dim(0), o.dim(2), o.dim(1) * o.dim(3)}, o.dtype());
  merge_heads(o, merged);
  return record<MergeHeadsNode>(merged, o_BHTD.gradient());
}

struct UnmergeHeadsNode : MovesElements<static_cast<void (*)(const Tensor&, Tensor&)>(merge_heads)> {
  static constexpr const char* name = "unmerge_heads";
};

// (B, T, H D) to (B, H, T, D)
inline Var unmerge_heads(const Var& x_BTE, std::int64_t H) {
  const Tensor& x = x_BTE.value();
  Tensor heads = x.new_empty({x.dim(0), H, x.dim(1), x.dim(2) / H}, x.dtype());
  merge_heads_backward(x, heads);
  return record<UnmergeHeadsNode>(heads, x_BTE.gradient());
}

struct SumHeadsNode : MovesElements<sum_heads_backward> {
  static constexpr const char* name = "sum_heads";
};

// (B, H, T, D) to (B, T, D)
inline Var sum_heads(const Var& o_BHTD) {
  const Tensor& o = o_BHTD.value();
  Tensor y = o.new_empty({o.dim(0), o.dim(2), o.dim(3)}, o.dtype());
  sum_heads(o, y);
  return record<SumHeadsNode>(y, o_BHTD.gradient());
}

}  // namespace sink
