#include "engine/ops/gather/gather_ref.h"

namespace sink::ref {

void gather(const Tensor& p, const Tensor& index, Tensor& y) {
  const double* p_i = p.data<double>();
  const std::int32_t* index_n = index.data<std::int32_t>();
  double* y_n = y.data<double>();
  for (std::int64_t n = 0; n < y.size(); ++n) y_n[n] = index_n[n] < 0 ? 0 : p_i[index_n[n]];
}

// Forward was: y_n = p_{index(n)}, or 0.
void gather_backward(const Tensor& dy, const Tensor& index, Tensor& dp, bool accumulate) {
  const double* dy_n = dy.data<double>();
  const std::int32_t* index_n = index.data<std::int32_t>();
  double* dp_i = dp.data<double>();
  if (!accumulate) dp.fill(0);
  for (std::int64_t n = 0; n < dy.size(); ++n)
    if (index_n[n] >= 0) dp_i[index_n[n]] += dy_n[n];
}

}  // namespace sink::ref
