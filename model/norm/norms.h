// Norm policies over the C elements of a token: norm(x) maps (..., C) of the residual stream to (..., C) in the compute
// dtype or in `type`; of_sum(a, b) returns a + b and its norm, computed in one pass.
#pragma once

#include "autograd/ops/norm_node.h"
#include "model/parameter_factory.h"

namespace sink {

// Root-mean-square norm with a learned gain.
class RmsNorm {
 public:
  static std::string name() { return "RmsNorm"; }

  RmsNorm(ParameterFactory& make, const std::string& prefix)
      : gain_(make.gain(prefix + ".gain", make.sizes().width)),
        type_(make.compute()),
        epsilon_(make.sizes().epsilon()) {}

  Var operator()(const Var& x) const { return rms_norm(x, gain_, type_, epsilon_); }
  Var operator()(const Var& x, DType type) const { return rms_norm(x, gain_, type, epsilon_); }
  NormedSum of_sum(const Var& a, const Var& b) const { return of_sum(a, b, type_); }
  NormedSum of_sum(const Var& a, const Var& b, DType type) const { return add_rms_norm(a, b, gain_, type, epsilon_); }

 private:
  const Parameter& gain_;
  DType type_;
  double epsilon_;
};

// Mean 0 and variance 1, then a learned gain and bias (Ba et al. 2016).
class LayerNorm {
 public:
  static std::string name() { return "LayerNorm"; }

  LayerNorm(ParameterFactory& make, const std::string& prefix)
      : gain_(make.gain(prefix + ".gain", make.sizes().width)),
        bias_(make.bias(prefix + ".bias", make.sizes().width)),
        type_(make.compute()),
        epsilon_(make.sizes().epsilon()) {}

  Var operator()(const Var& x) const { return layer_norm(x, gain_, bias_, type_, epsilon_); }
  Var operator()(const Var& x, DType type) const { return layer_norm(x, gain_, bias_, type, epsilon_); }
  NormedSum of_sum(const Var& a, const Var& b) const { return of_sum(a, b, type_); }
  NormedSum of_sum(const Var& a, const Var& b, DType type) const {
    return add_layer_norm(a, b, gain_, bias_, type, epsilon_);
  }

 private:
  const Parameter& gain_;
  const Parameter& bias_;
  DType type_;
  double epsilon_;
};

}  // namespace sink
