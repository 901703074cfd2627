#include "engine/ops/expert_glu/expert_glu_ref.h"

#include "engine/ops/expert_glu/expert_glu_math.h"

namespace sink::ref {

// i counts experts of all rows.
void expert_glu(const Tensor& gate_up, const Tensor& p, Tensor& y) {
  const std::int64_t F = y.dim(-1) / p.dim(-1);
  for (std::int64_t i = 0; i < p.size(); ++i)
    expert_glu_units<double>(gate_up.data<double>() + i * 2 * F, p.data<double>()[i], F, y.data<double>() + i * F);
}

void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, Tensor& dgate_up, Tensor& dp) {
  const std::int64_t F = dy.dim(-1) / p.dim(-1);
  for (std::int64_t i = 0; i < p.size(); ++i)
    dp.data<double>()[i] =
        expert_glu_units_backward<double>(dy.data<double>() + i * F, gate_up.data<double>() + i * 2 * F,
                                          p.data<double>()[i], F, dgate_up.data<double>() + i * 2 * F);
}

}  // namespace sink::ref
