// Reference: the Newton-Schulz iteration in double.
#include "engine/ops/optimizer/orthogonalize.h"

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/optimizer/newton_schulz.h"

namespace sink::ref {

void orthogonalize(const Tensor& x_MN, Tensor& y_MN) {
  const double* x = x_MN.data<double>();
  double* y = y_MN.data<double>();
  double squares = 0;
  for (std::int64_t i = 0; i < x_MN.size(); ++i) squares += x[i] * x[i];
  for (std::int64_t i = 0; i < x_MN.size(); ++i) y[i] = x[i] / (std::sqrt(squares) + NewtonSchulz::epsilon);
  newton_schulz(y_MN, [](double a, const Tensor& from, double b, Tensor& to) {
    for (std::int64_t i = 0; i < to.size(); ++i)
      to.data<double>()[i] = a * from.data<double>()[i] + b * to.data<double>()[i];
  });
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void orthogonalize(const Tensor& x_MN, Tensor& y_MN) {
  bool fits = x_MN.rank() == 2 && x_MN.shape() == y_MN.shape() && x_MN.dtype() == y_MN.dtype() &&
              x_MN.dtype() == accumulate_type(x_MN.dtype());
  SINK_CHECK(fits, "orthogonalize",
             "expected two matrices of one shape, f32 or f64: x is " + x_MN.str() + ", y is " + y_MN.str());
  if (x_MN.size() == 0) return;
  SINK_SELECT(x_MN, orthogonalize)(x_MN, y_MN);
}

}  // namespace sink
