// y = x + b, a learned bias of C elements added to every row. Backward: dx = dy, db = the sum of dy over rows.
#pragma once

#include <numeric>

#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/add_head_vector/add_head_vector.h"

namespace sink {

// A row of C elements is passed to the operation as one position of C / g heads of g elements, so that threads share
// the columns.
inline Shape bias_heads(std::int64_t C) {
  std::int64_t g = std::gcd(C, std::int64_t{64});
  return {C / g, g};
}
inline Tensor rows_as_heads(const Tensor& x) {
  Shape heads = bias_heads(x.dim(-1));
  return x.reshape({x.size() / x.dim(-1), heads[0], 1, heads[1]});
}

struct AddBiasNode {
  Gradient dx;
  const Parameter* bias;

  static constexpr const char* name = "add_bias";
  void backward(const Tensor& dy) {
    auto [db, accumulate] = bias->var().gradient().target();
    Tensor db_heads = db.reshape(bias_heads(db.size()));
    add_head_vector_backward(rows_as_heads(dy), db_heads, accumulate);
    if (dx.requires_grad()) dx.accumulate(dy);
  }
};

// x: (..., C), bias: (C); y in the type of x.
inline Var add_bias(const Var& x, const Parameter& bias_C) {
  const Tensor& master = bias_C.master();
  Tensor y = x.value().new_empty(x.value().shape(), x.value().dtype());
  Tensor y_heads = rows_as_heads(y);
  add_head_vector(rows_as_heads(x.value()), master.reshape(bias_heads(master.size())), y_heads);
  return record<AddBiasNode>(y, x.gradient(), &bias_C);
}

}  // namespace sink
