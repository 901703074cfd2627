#include "engine/ops/glu/glu_ref.h"

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
