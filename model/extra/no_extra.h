// Extra policy: none.
#pragma once

#include "model/extra/extra_defaults.h"

namespace sink {

struct NoExtra : ExtraDefaults {
  static std::string name() { return "NoExtra"; }

  NoExtra(ParameterFactory&, const std::string&) {}
};

}  // namespace sink
