// Reference: elementwise functions in double.
#include "engine/ops/activation/activation.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"

namespace sink::ref {

template <ListedActivationFunction F>
void activation(const Tensor& x, Tensor& y) {
  const double* x_i = x.data<double>();
  double* y_i = y.data<double>();
  for (std::int64_t i = 0; i < x.size(); ++i) y_i[i] = F::f(x_i[i]);
}

// Forward was: y = f(x).
template <ListedActivationFunction F>
void activation_backward(const Tensor& dy, const Tensor& x, Tensor& dx) {
  const double *dy_i = dy.data<double>(), *x_i = x.data<double>();
  double* dx_i = dx.data<double>();
  for (std::int64_t i = 0; i < x.size(); ++i) dx_i[i] = dy_i[i] * F::df(x_i[i]);
}

#define SINK_INSTANTIATE(F)                            \
  template void activation<F>(const Tensor&, Tensor&); \
  template void activation_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)
#undef SINK_INSTANTIATE

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
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
