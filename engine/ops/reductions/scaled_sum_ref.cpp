// Reference: the sum in order, in double.
#include "engine/ops/reductions/scaled_sum.h"

#include "engine/implementation.h"

namespace sink::ref {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y) {
  const double* x_i = x.data<double>();
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) sum += x_i[i];
  y.fill(factor * sum / divisor);
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y) {
  SINK_CHECK(x.dtype() != DType::I32, "scaled_sum", "expected floating-point elements, got " + x.str());
  SINK_CHECK(y.size() == 1, "scaled_sum", "expected a tensor of one element for the sum, got " + y.str());
  SINK_SELECT(x, scaled_sum)(x, factor, divisor, y);
}

}  // namespace sink
