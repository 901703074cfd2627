// y = RMSNorm(x) with a learned gain; y comes in the precision of the run.
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/parameter.h"
#include "autograd/record.h"
#include "engine/ops/rms_norm/rms_norm.h"

namespace sink {

struct RmsNormNode {
  Var x;
  const Parameter* gain;
  Tensor r;  // inverse root mean square of every row

  static constexpr const char* name = "rms_norm";
  void backward(const Tensor& dy) {
    auto [dgain, accumulate_dgain] = gain->var().gradient().target();
    if (x.requires_grad()) {
      auto [dx, accumulate_dx] = x.gradient().target();
      rms_norm_backward(dy, x.value(), gain->master(), r, dx, accumulate_dx, dgain, accumulate_dgain);
    } else {
      Tensor unused = Tensor::empty_like(x.value());
      rms_norm_backward(dy, x.value(), gain->master(), r, unused, false, dgain, accumulate_dgain);
    }
  }
};

inline Var rms_norm(const Var& x, const Parameter& gain, DType type, double epsilon = kNormEpsilon) {
  const Tensor& value = x.value();
  Tensor y = value.new_empty(value.shape(), type);
  Tensor r = value.new_empty({value.size() / value.dim(-1)}, value.dtype());
  rms_norm(value, gain.master(), y, r, epsilon);
  return record<RmsNormNode>(y, x, &gain, r);
}

struct AddRmsNormNode {
  SumGradients sum;
  Tensor u;
  const Parameter* gain;
  Tensor r;

  static constexpr const char* name = "add_rms_norm";
  static bool allows_undefined_grad(std::size_t output) { return output == 0; }
  void backward(const Tensor& du, const Tensor& dy) {
    auto [dgain, accumulate_dgain] = gain->var().gradient().target();
    sum.accumulate_from(u, [&, &dgain = dgain, accumulate_dgain = accumulate_dgain](Tensor& da, Tensor& db) {
      add_rms_norm_backward(dy, du, u, gain->master(), r, da, db, dgain, accumulate_dgain);
    });
  }
};

// u = a + b and y = RMSNorm(u).
inline NormedSum add_rms_norm(const Var& a, const Var& b, const Parameter& gain, DType type,
                              double epsilon = kNormEpsilon) {
  Tensor u = Tensor::empty_like(a.value()), y = u.new_empty(u.shape(), type);
  Tensor r = u.new_empty({u.size() / u.dim(-1)}, u.dtype());
  add_rms_norm(a.value(), b.value(), gain.master(), u, y, r, epsilon);
  auto [u_var, y_var] = record<AddRmsNormNode>(std::array{u, y}, SumGradients{a.gradient(), b.gradient()}, u, &gain, r);
  return {u_var, y_var};
}

}  // namespace sink
