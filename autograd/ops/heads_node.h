// Splits a projection into the heads of queries, keys and values, and joins the heads of the output.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/heads/heads.h"

namespace sink {

struct SplitHeadsNode : Node {
  Gradient dqkv_BTE;

  const char* name() const override { return "split_heads"; }
  void backward() override {
    Tensor dqkv = dqkv_BTE.grad_buffer();
    split_heads_backward(output_grad(0), output_grad(1), output_grad(2), dqkv);
    dqkv_BTE.accumulate(std::move(dqkv));
  }
};

struct QueryKeyValue {
  Var q_BHTD, k_BGTD, v_BGTD;
};

// Room for the heads of qkv (B, T, (H + 2 G) D): those of queries, of keys, and of values.
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
  Tape* tape = Tape::recording(qkv_BTE);
  QueryKeyValue parts{Var(q, tape), Var(k, tape), Var(v, tape)};
  if (tape) tape->add<SplitHeadsNode>(parts.q_BHTD, parts.k_BGTD, parts.v_BGTD).dqkv_BTE = qkv_BTE.gradient();
  return parts;
}

struct MergeHeadsNode : Node {
  Gradient do_BHTD;

  const char* name() const override { return "merge_heads"; }
  void backward() override {
    Tensor d_heads = do_BHTD.grad_buffer();
    merge_heads_backward(output_grad(), d_heads);
    do_BHTD.accumulate(std::move(d_heads));
  }
};

// (B, H, T, D) to (B, T, H D)
inline Var merge_heads(const Var& o_BHTD) {
  const Tensor& o = o_BHTD.value();
  Tensor merged = o.new_empty({o.dim(0), o.dim(2), o.dim(1) * o.dim(3)}, o.dtype());
  merge_heads(o, merged);
  Tape* tape = Tape::recording(o_BHTD);
  Var output(std::move(merged), tape);
  if (tape) tape->add<MergeHeadsNode>(output).do_BHTD = o_BHTD.gradient();
  return output;
}

struct SumHeadsNode : Node {
  Gradient do_BHTD;

  const char* name() const override { return "sum_heads"; }
  void backward() override {
    Tensor d_heads = do_BHTD.grad_buffer();
    sum_heads_backward(output_grad(), d_heads);
    do_BHTD.accumulate(std::move(d_heads));
  }
};

// (B, H, T, D) to (B, T, D)
inline Var sum_heads(const Var& o_BHTD) {
  const Tensor& o = o_BHTD.value();
  Tensor y = o.new_empty({o.dim(0), o.dim(2), o.dim(3)}, o.dtype());
  sum_heads(o, y);
  Tape* tape = Tape::recording(o_BHTD);
  Var output(std::move(y), tape);
  if (tape) tape->add<SumHeadsNode>(output).do_BHTD = o_BHTD.gradient();
  return output;
}

}  // namespace sink
