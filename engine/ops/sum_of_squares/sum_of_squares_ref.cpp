#include "engine/ops/sum_of_squares/sum_of_squares_ref.h"

namespace sink::ref {

double sum_of_squares(const Tensor& x) {
  const double* x_i = x.data<double>();
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) sum += x_i[i] * x_i[i];
  return sum;
}

}  // namespace sink::ref
