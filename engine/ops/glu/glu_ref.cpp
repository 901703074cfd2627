// Reference: the gated unit in double.
#include "engine/ops/glu/glu.h"

#include "engine/implementation.h"
#include "engine/ops/check_like.h"

namespace sink::ref {

template <ListedActivationFunction Function>
void glu(const Tensor& gate_up, Tensor& y) {
  std::int64_t F = y.dim(-1);
  for (std::int64_t row = 0; row * F < y.size(); ++row) {
    const double *gate_F = gate_up.data<double>() + row * 2 * F, *up_F = gate_F + F;
    double* y_F = y.data<double>() + row * F;
    for (std::int64_t f = 0; f < F; ++f) y_F[f] = Function::f(gate_F[f]) * up_F[f];
  }
}

// Forward was: y_f = F(gate_f) up_f.
template <ListedActivationFunction Function>
void glu_backward(const Tensor& dy, const Tensor& gate_up, Tensor& dgate_up) {
  std::int64_t F = dy.dim(-1);
  for (std::int64_t row = 0; row * F < dy.size(); ++row) {
    const double *gate_F = gate_up.data<double>() + row * 2 * F, *up_F = gate_F + F;
    const double* dy_F = dy.data<double>() + row * F;
    double *dgate_F = dgate_up.data<double>() + row * 2 * F, *dup_F = dgate_F + F;
    for (std::int64_t f = 0; f < F; ++f) {
      dup_F[f] = dy_F[f] * Function::f(gate_F[f]);
      dgate_F[f] = dy_F[f] * up_F[f] * Function::df(gate_F[f]);
    }
  }
}

#define SINK_INSTANTIATE(F)                     \
  template void glu<F>(const Tensor&, Tensor&); \
  template void glu_backward<F>(const Tensor&, const Tensor&, Tensor&);
SINK_ACTIVATION_FUNCTIONS(SINK_INSTANTIATE)
#undef SINK_INSTANTIATE

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
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
