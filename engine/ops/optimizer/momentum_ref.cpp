// Reference: momentum in double.
#include "engine/ops/optimizer/momentum.h"

#include "engine/implementation.h"
#include "engine/ops/optimizer/momentum_math.h"

namespace sink::ref {

void momentum(const MomentumSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& m, Tensor& u) {
  MomentumConstants<double> constants(settings, host_step_scalars(step_scalars));
  if (constants.skip) return;
  const double* dw_i = dw.data<double>();
  double *m_i = m.data<double>(), *u_i = u.defined() ? u.data<double>() : nullptr;
  for (std::int64_t i = 0; i < m.size(); ++i) {
    double g = constants.gradient_scale * dw_i[i];
    m_i[i] = settings.momentum * m_i[i] + g;
    if (u_i) u_i[i] = g + settings.momentum * m_i[i];
  }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void momentum(const MomentumSettings& settings, const Tensor& step_scalars, const Tensor& dw, Tensor& m, Tensor& u) {
  check_update("momentum", step_scalars, "dw, m and u", {&dw, &m, u.defined() ? &u : &m});
  SINK_SELECT(m, momentum)(settings, step_scalars, dw, m, u);
}

}  // namespace sink
