// Feature policies: phi in sim(phi(q), phi(k)), applied to queries and keys after any rotation (Gu et al. 2025, section
// 7.4, "kernels").
#pragma once

#include "autograd/ops/activation_node.h"
#include "autograd/ops/linear_node.h"
#include "model/parameter_factory.h"

namespace sink {

struct IdentityFeatures {
  static std::string name() { return "IdentityFeatures"; }
  IdentityFeatures(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& x_BHTD) const { return x_BHTD; }
};

// phi(x) = elu(x) + 1, so that all weights are positive.
struct EluFeatures {
  static std::string name() { return "Elu"; }
  EluFeatures(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& x_BHTD) const { return activate<EluPlusOneFunction>(x_BHTD); }
};

// phi(x) = W2 relu(W1 x) on the D elements of a head; one pair of matrices per block, for all heads, queries and keys.
class MlpFeatures {
 public:
  static std::string name() { return "Mlp"; }

  MlpFeatures(ParameterFactory& make, const std::string& prefix)
      : up_(make.linear(prefix + ".features.up.weight", make.sizes().width_of_head(), make.sizes().width_of_head())),
        down_(make.linear(prefix + ".features.down.weight", make.sizes().width_of_head(),
                          make.sizes().width_of_head())) {}

  Var operator()(const Var& x_BHTD) const { return linear(activate<ReluFunction>(linear(x_BHTD, up_)), down_); }

 private:
  const Parameter& up_;
  const Parameter& down_;
};

}  // namespace sink
