// y = RMSNorm(x) with a learned gain, or LayerNorm(x) with a learned gain and bias; y comes in the precision of the
// run.
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/norm/norm.h"

namespace sink {

// The parameters of a norm and what its backward pass needs of every row. RMSNorm has no bias and no mean.
template <NormKind kind>
struct NormOf {
  const Parameter *gain, *bias = nullptr;
  Tensor mean = {}, r = {};

  bool requires_grad() const { return gain->var().requires_grad() || (bias && bias->var().requires_grad()); }
  // y of a, or of u = a + b.
  Tensor forward(const Tensor& a, const Tensor& b, Tensor& u, DType type, double epsilon) {
    Tensor y = a.new_empty(a.shape(), type);
    r = a.new_empty({a.size() / a.dim(-1)}, a.dtype());
    if (bias) mean = Tensor::empty_like(r);
    norm<kind>(a, b, gain->master(), bias ? bias->master() : Tensor(), u, y, mean, r, epsilon);
    return y;
  }
  void backward(const Tensor& dy, const Tensor& du, const Tensor& x, Tensor& da, Tensor& db) const {
    Tensor none;
    Gradient::Target dgain = gain->var().gradient().target();
    Gradient::Target dbias = bias ? bias->var().gradient().target() : Gradient::Target{none, false};
    norm_backward<kind>(dy, du, x, gain->master(), mean, r, da, db, dgain.grad, dgain.accumulate, dbias.grad,
                        dbias.accumulate);
  }
};

template <NormKind kind>
struct NormNode {
  Var x;
  NormOf<kind> norm;

  void backward(const Tensor& dy) {
    Tensor none, unused;
    if (!x.requires_grad()) unused = Tensor::empty_like(x.value());
    auto [dx, accumulate] = x.requires_grad() ? x.gradient().target() : Gradient::Target{unused, false};
    norm.backward(dy, accumulate ? dx : none, x.value(), dx, none);
  }
};
struct RmsNormNode : NormNode<NormKind::rms> {
  static constexpr const char* name = "rms_norm";
};
struct LayerNormNode : NormNode<NormKind::layer> {
  static constexpr const char* name = "layer_norm";
};

template <NormKind kind>
struct AddNormNode {
  SumGradients sum;
  Tensor u;
  NormOf<kind> norm;

  static bool allows_undefined_grad(std::size_t output) { return output == 0; }
  void backward(const Tensor& du, const Tensor& dy) {
    sum.accumulate_from(u, [&](Tensor& da, Tensor& db) { norm.backward(dy, du, u, da, db); });
  }
};
struct AddRmsNormNode : AddNormNode<NormKind::rms> {
  static constexpr const char* name = "add_rms_norm";
};
struct AddLayerNormNode : AddNormNode<NormKind::layer> {
  static constexpr const char* name = "add_layer_norm";
};

template <class Node>
Var record_norm(const Var& x, decltype(Node::norm) norm, DType type, double epsilon) {
  Tensor none, y = norm.forward(x.value(), {}, none, type, epsilon);
  return record<Node>(y, x, norm);
}
inline Var rms_norm(const Var& x, const Parameter& gain, DType type, double epsilon = kNormEpsilon) {
  return record_norm<RmsNormNode>(x, {&gain}, type, epsilon);
}
inline Var layer_norm(const Var& x, const Parameter& gain, const Parameter& bias, DType type,
                      double epsilon = kNormEpsilon) {
  return record_norm<LayerNormNode>(x, {&gain, &bias}, type, epsilon);
}

// u = a + b and y = norm(u).
template <class Node>
NormedSum record_normed_sum(const Var& a, const Var& b, decltype(Node::norm) norm, DType type, double epsilon) {
  Tensor u = Tensor::empty_like(a.value()), y = norm.forward(a.value(), b.value(), u, type, epsilon);
  auto [u_var, y_var] = record<Node>(std::array{u, y}, SumGradients{a.gradient(), b.gradient()}, u, norm);
  return {u_var, y_var};
}
inline NormedSum add_rms_norm(const Var& a, const Var& b, const Parameter& gain, DType type,
                              double epsilon = kNormEpsilon) {
  return record_normed_sum<AddRmsNormNode>(a, b, {&gain}, type, epsilon);
}
inline NormedSum add_layer_norm(const Var& a, const Var& b, const Parameter& gain, const Parameter& bias, DType type,
                                double epsilon = kNormEpsilon) {
  return record_normed_sum<AddLayerNormNode>(a, b, {&gain, &bias}, type, epsilon);
}

}  // namespace sink
