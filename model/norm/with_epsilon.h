// A norm, of the residual stream or of queries and keys, with another epsilon than 1e-5: WithEpsilon<RmsNorm, 1e-6>.
#pragma once

#include "model/name_with_numbers.h"
#include "model/parameter_factory.h"

namespace sink {

template <class Norm, double kEpsilon>
struct WithEpsilon : Norm {
  static std::string name() { return name_with_numbers(Norm::name(), {kEpsilon}); }

  WithEpsilon(ParameterFactory& make, const std::string& prefix) : Norm(make, prefix, kEpsilon) {}
};

}  // namespace sink
