// y = LayerNorm(x) with a learned gain and bias; y comes in the precision of the run.
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/parameter.h"
#include "autograd/tape.h"
#include "engine/ops/layer_norm/layer_norm.h"

namespace sink {

struct LayerNormNode : Node {
  Var x;
  const Parameter *gain, *bias;
  Tensor mean, r;  // mean and inverse standard deviation of every row

  const char* name() const override { return "layer_norm"; }
  void backward() override {
    auto [dgain, accumulate_dgain] = gain->var().gradient().target();
    auto [dbias, accumulate_dbias] = bias->var().gradient().target();
    auto backward_into = [&, accumulate_dgain = accumulate_dgain, accumulate_dbias = accumulate_dbias, &dgain = dgain,
                          &dbias = dbias](Tensor& dx, bool accumulate_dx) {
      layer_norm_backward(output_grad(), x.value(), gain->master(), mean, r, {dx, accumulate_dx},
                          {dgain, accumulate_dgain}, {dbias, accumulate_dbias});
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
  Tape* tape = Tape::recording(x, gain.var(), bias.var());
  Var output(std::move(y), tape);
  if (tape) {
    auto& node = tape->add<LayerNormNode>(output);
    node.x = x;
    node.gain = &gain;
    node.bias = &bias;
    node.mean = mean;
    node.r = r;
  }
  return output;
}

struct AddLayerNormNode : NormedSumNode {
  const Parameter *gain, *bias;
  Tensor mean, r;

  const char* name() const override { return "add_layer_norm"; }
  void backward() override {
    auto gain_target = gain->var().gradient().target(), bias_target = bias->var().gradient().target();
    pass_on([&](Tensor& da, Tensor& db) {
      add_layer_norm_backward(output_grad(1), output_grad(0), u, gain->master(), mean, r, da, db,
                              {gain_target.grad, gain_target.accumulate}, {bias_target.grad, bias_target.accumulate});
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
  Tape* tape = Tape::recording(a, b, gain.var(), bias.var());
  NormedSum outputs{Var(u, tape), Var(std::move(y), tape)};
  if (tape) {
    auto& node = tape->add<AddLayerNormNode>(outputs.u, outputs.y);
    node.da = a.gradient();
    node.db = b.gradient();
    node.u = u;
    node.gain = &gain;
    node.bias = &bias;
    node.mean = mean;
    node.r = r;
  }
  return outputs;
}

}  // namespace sink
