// Position policy: none. Only the causal mask tells positions apart ("NoPE", Gu et al. 2025, section 7.1).
#pragma once

#include "model/position/position_defaults.h"

namespace sink {

struct NoPosition : PositionDefaults {
  static std::string name() { return "NoPosition"; }

  explicit NoPosition(ParameterFactory&) {}
};

}  // namespace sink
