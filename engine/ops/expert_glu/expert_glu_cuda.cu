// CUDA backend: F32 and BF16, computed in float, an expert of a row on each thread.
#include "engine/ops/expert_glu/expert_glu.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/expert_glu/expert_glu_math.h"

namespace sink::cuda {
namespace {

// i counts experts of all rows.
template <class X, class Unit>
void forward(const Tensor& gate_up, const Tensor& p, Tensor& y) {
  const std::int64_t F = y.dim(-1) / p.dim(-1);
  const X *in = gate_up.device_data<X>(), *p_i = p.device_data<X>();
  X* out = y.device_data<X>();
  for_each_element(p.size(), [=] __device__(std::int64_t i) {
    expert_glu_units<Unit>(in + i * 2 * F, float(p_i[i]), F, out + i * F);
  });
}

template <class X, class Unit>
void backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, Tensor& dgate_up, Tensor& dp) {
  const std::int64_t F = dy.dim(-1) / p.dim(-1);
  const X *dy_i = dy.device_data<X>(), *in = gate_up.device_data<X>(), *p_i = p.device_data<X>();
  X *out = dgate_up.device_data<X>(), *dp_i = dp.device_data<X>();
  for_each_element(p.size(), [=] __device__(std::int64_t i) {
    store(dp_i[i], expert_glu_units_backward<Unit>(dy_i + i * F, in + i * 2 * F, float(p_i[i]), F, out + i * 2 * F));
  });
}

}  // namespace

void expert_glu(const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& y) {
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    with_expert_unit<float>(unit, [&]<class Unit>() { forward<decltype(zero), Unit>(gate_up, p, y); });
  });
}

void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& dgate_up,
                         Tensor& dp) {
  with_real<float, bf16>(dy.dtype(), [&](auto zero) {
    with_expert_unit<float>(unit, [&]<class Unit>() { backward<decltype(zero), Unit>(dy, gate_up, p, dgate_up, dp); });
  });
}

}  // namespace sink::cuda
