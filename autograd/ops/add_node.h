// y = a + b, the residual connection: both inputs receive dy. And y = x + p for a table of positions.
#pragma once

#include "autograd/record.h"
#include "engine/ops/add/add.h"

namespace sink {

struct AddNode {
  Gradient da, db;

  static constexpr const char* name = "add";
  void backward(const Tensor& dy) {
    if (da.requires_grad()) da.accumulate(dy);
    if (db.requires_grad()) db.accumulate(dy.to(db.dtype()));
  }
};

inline Var add(const Var& a, const Var& b) {
  Tensor y = Tensor::empty_like(a.value());
  add(a.value(), b.value(), y);
  return record<AddNode>(y, a.gradient(), b.gradient());
}

// u = a + b and its norm y, made in one pass (norm_node.h).
struct NormedSum {
  Var u, y;
};

// The gradients of a and b of such a sum. They are equal, up to their types. The gradient of u may be undefined: no
// operation but the norm reads u after the last block.
struct SumGradients {
  Gradient da, db;

  bool requires_grad() const { return da.requires_grad() || db.requires_grad(); }
  // run(da, db) writes both. db is undefined if it has the type of da: then da is the gradient of b, too.
  template <class F>
  void accumulate_from(const Tensor& u, F&& run) const {
    Tensor of_a = Tensor::empty_like(u), of_b;
    if (db.requires_grad() && db.dtype() != u.dtype()) of_b = u.new_empty(u.shape(), db.dtype());
    run(of_a, of_b);
    if (da.requires_grad()) da.accumulate(of_a);
    if (db.requires_grad()) db.accumulate(of_b.defined() ? of_b : of_a);
  }
};

struct AddRowsNode {
  Gradient dx, dp_TC;

  static constexpr const char* name = "add_rows";
  void backward(const Tensor& dy) {
    if (dp_TC.requires_grad()) {
      auto [dp, accumulate] = dp_TC.target();
      add_rows_backward(dy, dp, accumulate);
    }
    if (dx.requires_grad()) dx.accumulate(dy);
  }
};

// y_btc = x_btc + p_tc, p learned or fixed.
inline Var add_rows(const Var& x_BTC, const Var& p_TC) {
  Tensor y = Tensor::empty_like(x_BTC.value());
  add_rows(x_BTC.value(), p_TC.value(), y);
  return record<AddRowsNode>(y, x_BTC.gradient(), p_TC.gradient());
}

}  // namespace sink
