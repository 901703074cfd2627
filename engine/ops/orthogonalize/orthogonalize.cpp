#include "engine/ops/orthogonalize/orthogonalize.h"

#include "engine/implementation.h"
#include "engine/ops/orthogonalize/orthogonalize_cpu.h"
#include "engine/ops/orthogonalize/orthogonalize_cuda.h"
#include "engine/ops/orthogonalize/orthogonalize_ref.h"

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
