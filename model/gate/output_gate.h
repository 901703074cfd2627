// Gate policies: factors on the output of attention before the output projection, computed from the normed input h of
// the layer (Qiu et al. 2025, "gated attention": no sink, no massive activations).
#pragma once

#include "autograd/ops/gate_node.h"
#include "autograd/ops/linear_node.h"
#include "model/parameter_factory.h"

namespace sink {

struct NoGate {
  static std::string name() { return "NoGate"; }
  NoGate(ParameterFactory&, const std::string&) {}
  Var operator()(const Var& o_BTE, const Var&) const { return o_BTE; }
};

// o sigmoid(h W^T), with W of `gates` rows.
class OutputGate {
 public:
  Var operator()(const Var& o_BTE, const Var& h_BTC) const { return gate(o_BTE, linear(h_BTC, weight_)); }

 protected:
  OutputGate(ParameterFactory& make, const std::string& prefix, std::int64_t gates)
      : weight_(make.linear(prefix + ".gate.weight", gates, make.sizes().width)) {}

 private:
  const Parameter& weight_;
};

// One gate per head.
struct HeadGate : OutputGate {
  static std::string name() { return "HeadGate"; }
  HeadGate(ParameterFactory& make, const std::string& prefix) : OutputGate(make, prefix, make.sizes().heads) {}
};

// One gate per element.
struct ElementGate : OutputGate {
  static std::string name() { return "ElementGate"; }
  ElementGate(ParameterFactory& make, const std::string& prefix)
      : OutputGate(make, prefix, make.sizes().heads * make.sizes().width_of_head()) {}
};

}  // namespace sink
