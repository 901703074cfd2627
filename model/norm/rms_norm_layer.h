// Norm policy: root-mean-square norm with a learned gain.
#pragma once

#include "autograd/ops/rms_norm_node.h"
#include "model/parameter_factory.h"

namespace sink {

class RmsNorm {
 public:
  static std::string name() { return "RmsNorm"; }

  RmsNorm(ParameterFactory& make, const std::string& prefix)
      : gain_(make.gain(prefix + ".gain", make.sizes().width)),
        type_(make.compute()),
        epsilon_(make.sizes().epsilon()) {}

  // (..., C) of the residual stream to (..., C) in the precision of products, or in `type`.
  Var operator()(const Var& x) const { return rms_norm(x, gain_, type_, epsilon_); }
  Var operator()(const Var& x, DType type) const { return rms_norm(x, gain_, type, epsilon_); }
  // a + b and the norm of that, in one pass.
  NormedSum of_sum(const Var& a, const Var& b) const { return of_sum(a, b, type_); }
  NormedSum of_sum(const Var& a, const Var& b, DType type) const { return add_rms_norm(a, b, gain_, type, epsilon_); }

 private:
  const Parameter& gain_;
  DType type_;
  double epsilon_;
};

}  // namespace sink
