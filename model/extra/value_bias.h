// Extra policy: a learned vector added to the output of every head (V biases, Gu et al. 2025, Table 4).
#pragma once

#include "autograd/ops/add_head_vector_node.h"
#include "model/extra/extra_defaults.h"
#include "model/extra/head_vectors.h"

namespace sink {

// o_i + v*_h
template <Scope kScope>
class ValueBias : public ExtraDefaults {
 public:
  static std::string name() { return kScope == Scope::shared ? "ValueBias(shared)" : "ValueBias"; }

  ValueBias(ParameterFactory& make, const std::string& prefix)
      : vectors_(make, ParameterRole::extra_value, prefix + ".extra.value", kScope) {}

  Var output(const Var& o_BHTD) const { return add_head_vector(o_BHTD, vectors_()); }

 private:
  HeadVectors vectors_;
};

}  // namespace sink
