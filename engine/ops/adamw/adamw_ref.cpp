#include "engine/ops/adamw/adamw_ref.h"

#include "engine/ops/adamw/adamw_math.h"

namespace sink::ref {

void adamw(const AdamwSettings& settings, const Tensor& numbers, const Tensor& dw, Tensor& w, Tensor& m, Tensor& v,
           Tensor&) {
  AdamwConstants<double> constants(settings, numbers.data<double>());
  if (constants.skip) return;
  const double* dw_i = dw.data<double>();
  double *w_i = w.data<double>(), *m_i = m.data<double>(), *v_i = v.data<double>();
  for (std::int64_t i = 0; i < w.size(); ++i) adamw_element(constants, dw_i[i], w_i[i], m_i[i], v_i[i]);
}

}  // namespace sink::ref
