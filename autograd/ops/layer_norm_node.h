// y = LayerNorm(x) with a learned gain and bias; y comes in the precision of the run.
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/layer_norm/layer_norm.h"

namespace sink {

struct LayerNormNode {
  Var x;
  const Parameter *gain, *bias;
  Tensor mean, r;  // mean and inverse standard deviation of every row

  static constexpr const char* name = "layer_norm";
  void backward(const Tensor& dy) {
    auto [dgain, accumulate_dgain] = gain->var().gradient().target();
    auto [dbias, accumulate_dbias] = bias->var().gradient().target();
    auto backward_into = [&, accumulate_dgain = accumulate_dgain, accumulate_dbias = accumulate_dbias, &dgain = dgain,
                          &dbias = dbias](Tensor& dx, bool accumulate_dx) {
      layer_norm_backward(dy, x.value(), gain->master(), mean, r, {dx, accumulate_dx}, {dgain, accumulate_dgain},
                          {dbias, accumulate_dbias});
    };
    if (x.requires_grad()) {
      auto [dx, accumulate_dx] = x.gradient().target();
      backward_into(dx, accumulate_dx);
    } else {
      Tensor unused = Tensor::empty_like(x.value());
      backward_into(unused, false);
    }
  }
};

inline Var layer_norm(const Var& x, const Parameter& gain, const Parameter& bias, DType type,
                      double epsilon = kLayerNormEpsilon) {
  const Tensor& value = x.value();
  Tensor y = value.new_empty(value.shape(), type);
  Shape rows = {value.size() / value.dim(-1)};
  Tensor mean = value.new_empty(rows, value.dtype()), r = value.new_empty(rows, value.dtype());
  layer_norm(value, gain.master(), bias.master(), y, mean, r, epsilon);
  return record<LayerNormNode>(y, x, &gain, &bias, mean, r);
}

struct AddLayerNormNode {
  SumGradients sum;
  Tensor u;
  const Parameter *gain, *bias;
  Tensor mean, r;

  static constexpr const char* name = "add_layer_norm";
  static bool allows_undefined_grad(std::size_t output) { return output == 0; }
  void backward(const Tensor& du, const Tensor& dy) {
    auto gain_target = gain->var().gradient().target(), bias_target = bias->var().gradient().target();
    sum.accumulate_from(u, [&](Tensor& da, Tensor& db) {
      add_layer_norm_backward(dy, du, u, gain->master(), mean, r, da, db, {gain_target.grad, gain_target.accumulate},
                              {bias_target.grad, bias_target.accumulate});
    });
  }
};

// u = a + b and y = LayerNorm(u).
inline NormedSum add_layer_norm(const Var& a, const Var& b, const Parameter& gain, const Parameter& bias, DType type,
                                double epsilon = kLayerNormEpsilon) {
  Tensor u = Tensor::empty_like(a.value()), y = u.new_empty(u.shape(), type);
  Shape rows = {u.size() / u.dim(-1)};
  Tensor mean = u.new_empty(rows, u.dtype()), r = u.new_empty(rows, u.dtype());
  add_layer_norm(a.value(), b.value(), gain.master(), bias.master(), u, y, mean, r, epsilon);
  auto [u_var, y_var] =
      record<AddLayerNormNode>(std::array{u, y}, SumGradients{a.gradient(), b.gradient()}, u, &gain, &bias, mean, r);
  return {u_var, y_var};
}

}  // namespace sink
