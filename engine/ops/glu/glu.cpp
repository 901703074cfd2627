#include "engine/ops/glu/glu.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/glu/glu_cpu.h"
#include "engine/ops/glu/glu_cuda.h"
#include "engine/ops/glu/glu_ref.h"

namespace sink {
namespace {

void check_glu(const char* tag, const char* name, const Tensor& gate_up, const Tensor& y) {
  Shape expected = y.shape();
  if (y.rank() > 0) expected[-1] *= 2;
  SINK_CHECK(
      y.rank() > 0 && gate_up.shape() == expected && gate_up.dtype() == y.dtype(), tag,
      "expected (..., 2F) and (..., F) of one type: gate_up is " + gate_up.str() + ", " + name + " is " + y.str());
}

}  // namespace

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y) {
  check_glu("glu", "y", gate_up, y);
  SINK_SELECT(gate_up, glu<Function>)(gate_up, y);
}

template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  check_glu("glu_backward", "dy", gate_up, dy);
  check_like("glu_backward", "dgate_up", dgate_up, gate_up);
  SINK_SELECT(gate_up, glu_backward<Function>)(dy, gate_up, dgate_up);
}

#define SINK_INSTANTIATE(F)                     \
  template void glu<F>(const Tensor&, Tensor&); \
  template void glu_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)
#undef SINK_INSTANTIATE

}  // namespace sink
