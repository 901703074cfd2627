#include "engine/ops/scaled_sum/scaled_sum.h"

#include "engine/implementation.h"
#include "engine/ops/scaled_sum/scaled_sum_cpu.h"
#include "engine/ops/scaled_sum/scaled_sum_cuda.h"
#include "engine/ops/scaled_sum/scaled_sum_ref.h"

namespace sink {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y) {
  SINK_CHECK(x.dtype() != DType::I32, "scaled_sum", "expected real numbers, got " + x.str());
  SINK_CHECK(y.size() == 1, "scaled_sum", "expected a tensor of one number for the sum, got " + y.str());
  SINK_SELECT(x, scaled_sum)(x, factor, divisor, y);
}

}  // namespace sink
