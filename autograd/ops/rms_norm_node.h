// y = RMSNorm(x) with a learned gain; y comes in the precision of the run.
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/parameter.h"
#include "autograd/tape.h"
#include "engine/ops/rms_norm/rms_norm.h"

namespace sink {

struct RmsNormNode : Node {
  Var x;
  const Parameter* gain;
  Tensor r;  // inverse root mean square of every row

  const char* name() const override { return "rms_norm"; }
  void backward() override {
    auto [dgain, accumulate_dgain] = gain->var().gradient().target();
    if (x.requires_grad()) {
      auto [dx, accumulate_dx] = x.gradient().target();
      rms_norm_backward(output_grad(), x.value(), gain->master(), r, dx, accumulate_dx, dgain, accumulate_dgain);
    } else {
      Tensor unused = Tensor::empty_like(x.value());
      rms_norm_backward(output_grad(), x.value(), gain->master(), r, unused, false, dgain, accumulate_dgain);
    }
  }
};

inline Var rms_norm(const Var& x, const Parameter& gain, DType type, double epsilon = kNormEpsilon) {
  const Tensor& value = x.value();
  Tensor y = value.new_empty(value.shape(), type);
  Tensor r = value.new_empty({value.size() / value.dim(-1)}, value.dtype());
  rms_norm(value, gain.master(), y, r, epsilon);
  Tape* tape = Tape::recording(x, gain.var());
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<RmsNormNode>(output);
    node.x = x;
    node.gain = &gain;
    node.r = r;
  }
  return output;
}

struct AddRmsNormNode : NormedSumNode {
  const Parameter* gain;
  Tensor r;

  const char* name() const override { return "add_rms_norm"; }
  void backward() override {
    auto [dgain, accumulate_dgain] = gain->var().gradient().target();
    pass_on([&, &dgain = dgain, accumulate_dgain = accumulate_dgain](Tensor& da, Tensor& db) {
      add_rms_norm_backward(output_grad(1), output_grad(0), u, gain->master(), r, da, db, dgain, accumulate_dgain);
    });
  }
};

// u = a + b and y = RMSNorm(u).
inline NormedSum add_rms_norm(const Var& a, const Var& b, const Parameter& gain, DType type,
                              double epsilon = kNormEpsilon) {
  Tensor u = Tensor::empty_like(a.value()), y = u.new_empty(u.shape(), type);
  Tensor r = u.new_empty({u.size() / u.dim(-1)}, u.dtype());
  add_rms_norm(a.value(), b.value(), gain.master(), u, y, r, epsilon);
  Tape* tape = Tape::recording(a, b, gain.var());
  NormedSum outputs{Var(u, tape), Var(std::move(y), tape)};
  if (tape) {
    auto& node = tape->add<AddRmsNormNode>(outputs.u, outputs.y);
    node.da = a.gradient();
    node.db = b.gradient();
    node.u = u;
    node.gain = &gain;
    node.r = r;
  }
  return outputs;
}

}  // namespace sink
