// y = a + b, the residual connection: both inputs receive dy. And y = x + p for a table of positions.
#pragma once

#include "autograd/tape.h"
#include "engine/ops/add/add.h"

namespace sink {

struct AddNode : Node {
  Gradient da, db;

  const char* name() const override { return "add"; }
  void backward() override {
    if (da.requires_grad()) da.accumulate(output_grad());
    if (db.requires_grad()) db.accumulate(output_grad().to(db.dtype()));
  }
};

inline Var add(const Var& a, const Var& b) {
  Tensor y = Tensor::empty_like(a.value());
  add(a.value(), b.value(), y);
  Tape* tape = Tape::recording(a, b);
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<AddNode>(output);
    node.da = a.gradient();
    node.db = b.gradient();
  }
  return output;
}

// u = a + b and its norm y, made in one pass (rms_norm_node.h, layer_norm_node.h), and what its backward needs of it.
struct NormedSum {
  Var u, y;
};
struct NormedSumNode : Node {
  Gradient da, db;
  Tensor u;

  bool allows_undefined_grad(std::size_t output) const override { return output == 0; }

 protected:
  // run(da, db) writes them: db is undefined where b has the type of a and the gradient of a is b's, too.
  template <class F>
  void pass_on(F&& run) {
    Tensor of_a = Tensor::empty_like(u), of_b;
    if (db.requires_grad() && db.dtype() != u.dtype()) of_b = u.new_empty(u.shape(), db.dtype());
    run(of_a, of_b);
    if (da.requires_grad()) da.accumulate(of_a);
    if (db.requires_grad()) db.accumulate(of_b.defined() ? of_b : of_a);
  }
};

struct AddRowsNode : Node {
  Gradient dx, dp_TC;

  const char* name() const override { return "add_rows"; }
  void backward() override {
    if (dp_TC.requires_grad()) {
      auto [dp, accumulate] = dp_TC.target();
      add_rows_backward(output_grad(), dp, accumulate);
    }
    if (dx.requires_grad()) dx.accumulate(output_grad());
  }
};

// y_btc = x_btc + p_tc, p learned or fixed.
inline Var add_rows(const Var& x_BTC, const Var& p_TC) {
  Tensor y = Tensor::empty_like(x_BTC.value());
  add_rows(x_BTC.value(), p_TC.value(), y);
  Tape* tape = Tape::recording(x_BTC, p_TC);
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<AddRowsNode>(output);
    node.dx = x_BTC.gradient();
    node.dp_TC = p_TC.gradient();
  }
  return output;
}

}  // namespace sink
