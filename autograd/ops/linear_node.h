// y = x W^T with a learned W (no bias). Backward: dx = dy W, dW = dy^T x.
#pragma once

#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/stored_product/stored_expert_product.h"
#include "engine/ops/stored_product/stored_product.h"

namespace sink {

struct LinearNode {
  Var x;
  const Parameter* weight;

  static constexpr const char* name = "linear";
  void backward(const Tensor& dy) {
    auto [dw, accumulate_dw] = weight->var().gradient().target();
    matmul(transposed(dy), {x.value()}, dw, accumulate_dw);
    if (!x.requires_grad()) return;
    auto [dx, accumulate_dx] = x.gradient().target();
    matmul({dy}, {weight->compute()}, dx, accumulate_dx);
  }
};

// y = x W^T without recording, for a W that is a tensor or is stored in a file.
inline void product(const Tensor& x, const Parameter& weight, Tensor& y) {
  if (weight.stored())
    stored_product(x, *weight.stored(), y);
  else
    matmul({x}, transposed(weight.compute()), y);
}

inline Tensor linear_output(const Tensor& x, const Parameter& weight) {
  Shape shape = x.shape();
  shape[-1] = weight.info().shape[0];
  return x.new_empty(shape, x.dtype());
}

// x: (..., in), weight: (out, in); y: (..., out) in the type of x.
inline Var linear(const Var& x, const Parameter& weight) {
  Tensor y = linear_output(x.value(), weight);
  product(x.value(), weight, y);
  return record<LinearNode>(y, x, &weight);
}

struct LinearOfVarNode {
  Var x, weight;
  Tensor compute;  // the weight in the type of x

  static constexpr const char* name = "linear_of_var";
  void backward(const Tensor& dy) {
    if (weight.requires_grad()) {
      auto [dw, accumulate_dw] = weight.gradient().target();
      matmul(transposed(dy), {x.value()}, dw, accumulate_dw);
    }
    if (!x.requires_grad()) return;
    auto [dx, accumulate_dx] = x.gradient().target();
    matmul({dy}, {compute}, dx, accumulate_dx);
  }
};

// The same for a weight that is computed, (out, in) in the type of the master weights.
inline Var linear(const Var& x, const Var& weight) {
  const Tensor compute = weight.value().to(x.value().dtype());
  Shape shape = x.value().shape();
  shape[-1] = compute.dim(0);
  Tensor y = x.value().new_empty(shape, x.value().dtype());
  matmul({x.value()}, transposed(compute), y);
  return record<LinearOfVarNode>(y, x, weight, compute);
}

// The same for the matrices of a mixture's experts, of which p: (..., E) chooses a few. Where the weights are stored in
// a file only those are computed, and outputs of the others are unspecified.
inline Var expert_linear(const Var& x, const Var& p, const Parameter& weight) {
  if (!weight.stored()) return linear(x, weight);
  Tensor y = linear_output(x.value(), weight);
  stored_expert_product(x.value(), p.value(), *weight.stored(), y);
  return record<LinearNode>(y, x, &weight);
}

// y = x W^T for the matrices of E experts side by side, x: (..., E F). Where the weights are stored in a file, those of
// experts for which x is 0 are not read.
inline Var expert_linear_sum(const Var& x, std::int64_t E, const Parameter& weight) {
  if (!weight.stored()) return linear(x, weight);
  Tensor y = linear_output(x.value(), weight);
  stored_expert_sum(x.value(), E, *weight.stored(), y);
  return record<LinearNode>(y, x, &weight);
}

}  // namespace sink
