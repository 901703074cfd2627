// The defaults of position policies, and the policy without positions.
#pragma once

#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

// Changes neither the embedding, nor queries and keys, nor scores.
struct PositionDefaults {
  Var embed(const Var& x_BTC, const ForwardContext&) const { return x_BTC; }
  Var rotate(const Var& x_BHTD, const ForwardContext&) const { return x_BHTD; }
  Var bias(const ForwardContext&) const { return {}; }
};

// "NoPE": only the causal mask distinguishes positions (Gu et al. 2025, section 7.1).
struct NoPosition : PositionDefaults {
  static std::string name() { return "NoPosition"; }

  explicit NoPosition(ParameterFactory&) {}
};

}  // namespace sink
