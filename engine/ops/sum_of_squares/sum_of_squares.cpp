#include "engine/ops/sum_of_squares/sum_of_squares.h"

#include "engine/implementation.h"
#include "engine/ops/sum_of_squares/sum_of_squares_cpu.h"
#include "engine/ops/sum_of_squares/sum_of_squares_ref.h"

namespace sink {

double sum_of_squares(const Tensor& x) {
  SINK_CHECK(x.dtype() != DType::I32, "sum_of_squares", "expected real numbers, got " + x.str());
  return SINK_SELECT(x, sum_of_squares)(x);
}

}  // namespace sink
