#include "engine/ops/activation/activation.h"

#include "engine/implementation.h"
#include "engine/ops/activation/activation_cpu.h"
#include "engine/ops/activation/activation_cuda.h"
#include "engine/ops/activation/activation_ref.h"
#include "engine/ops/check_like.h"

namespace sink {

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y) {
  check_like("activation", "y", y, x);
  SINK_SELECT(x, activation<F>)(x, y);
}

template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx) {
  check_like("activation_backward", "dy", dy, x);
  check_like("activation_backward", "dx", dx, x);
  SINK_SELECT(x, activation_backward<F>)(dy, x, dx);
}

#define SINK_INSTANTIATE(F)                            \
  template void activation<F>(const Tensor&, Tensor&); \
  template void activation_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)
#undef SINK_INSTANTIATE

}  // namespace sink
