// Whether the derivatives that an operation writes by hand are those of its functions. A struct that derives from another
// operation and replaces g inherits that one's dg, which compiles and trains wrongly.
#pragma once

#include <cmath>
#include <string>

#include "engine/check.h"
#include "engine/ops/attention/op/attention_row.h"

namespace sink {

// Throws Error (Exit::usage) for the first that is not, at some points. Of operations that state
// has_derivative_of_its_own nothing is checked.
template <class Op>
void check_written_derivatives(const Op& op) {
  if constexpr (!Op::has_derivative_of_its_own) {
    auto compare = [](const char* function, const char* derivative, double at, double written, double derived) {
      if (std::abs(written - derived) <= 1e-9 * (1 + std::abs(derived))) return;
      fail("attention operation",
           std::string(operation_name<Op>()) + " has a derivative " + derivative + " that is not the one of its " +
               function + ": at " + std::to_string(at) + " it is " + std::to_string(written) + ", expected " +
               std::to_string(derived) + ". A struct that replaces " + function + " inherits " + derivative +
               " of its base: write " + derivative + " too, or derive from an operation without one",
           Exit::usage);
    };
    const double m = 0.3;
    const auto row = row_functions(op, m);
    const auto dual = row_functions(op, Dual<double>(m, 0.0));
    for (double x : {-2.71, -1.13, -0.37, 0.41, 1.73, 2.9}) {
      const Dual<double> at(x, 1.0);
      if constexpr (requires { row.dg(x); }) compare("g", "dg", x, row.dg(x), dual.g(at).slope);
      if constexpr (requires { row.dr(x); }) compare("r", "dr", x, row.dr(x), dual.r(at).slope);
    }
    for (double S : {0.23, 0.71, 1.9, 5.3}) {
      const Dual<double> at(S, 1.0);
      if constexpr (requires { row.dz(S); }) compare("z", "dz", S, row.dz(S), dual.z(at).slope);
      if constexpr (requires { op.dpost(S); }) compare("post", "dpost", S, op.dpost(S), op.post(at).slope);
    }
  }
}

}  // namespace sink
