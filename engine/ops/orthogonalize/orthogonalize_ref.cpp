#include "engine/ops/orthogonalize/orthogonalize_ref.h"

#include <cmath>

#include "engine/ops/orthogonalize/newton_schulz.h"

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
