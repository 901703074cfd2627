// The norm of a sublayer in placements that have one: parameters <prefix>.norm.*
#pragma once

#include "model/parameter_factory.h"

namespace sink {

template <class Norm>
struct OneNorm {
  Norm norm;

  OneNorm(ParameterFactory& make, const std::string& prefix) : norm(make, prefix + ".norm") {}
};

}  // namespace sink
