#include "engine/ops/scaled_sum/scaled_sum.h"

#include "engine/ops/scaled_sum/scaled_sum_ref.h"

namespace sink {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y) {
  SINK_CHECK(y.size() == 1, "scaled_sum", "expected room for one number, got " + y.str());
  double sum = with_real(x.dtype(), [&](auto zero) { return ref::sum(x.data<decltype(zero)>(), x.size()); });
  y.fill(factor * sum / divisor);
}

}  // namespace sink
