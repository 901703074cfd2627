// Position policy: none. Only the causal mask tells positions apart ("NoPE", Gu et al. 2025, section 7.1).
#pragma once

#include "model/parameter_factory.h"

namespace sink {

class NoPosition {
 public:
  static constexpr const char* name = "NoPosition";

  explicit NoPosition(ParameterFactory&) {}

  Var embed(const Var& x_BTC) const { return x_BTC; }
  Var turn(const Var& x_BHTD) const { return x_BHTD; }
  Var bias() const { return {}; }
};

}  // namespace sink
