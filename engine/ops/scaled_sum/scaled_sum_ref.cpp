#include "engine/ops/scaled_sum/scaled_sum_ref.h"

namespace sink::ref {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y) {
  const double* x_i = x.data<double>();
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) sum += x_i[i];
  y.fill(factor * sum / divisor);
}

}  // namespace sink::ref
