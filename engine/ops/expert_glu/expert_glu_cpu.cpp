// CPU backend: F32 and BF16, computed in float, on all threads.
#include "engine/ops/expert_glu/expert_glu.h"

#include "engine/ops/expert_glu/expert_glu_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kExperts = 8;  // of all rows, i below counts them

}  // namespace

void expert_glu(const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& y) {
  const std::int64_t F = y.dim(-1) / p.dim(-1);
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    using X = decltype(zero);
    with_expert_unit<float>(unit, [&]<class Unit>() {
      parallel_chunks(p.size(), kExperts, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          expert_glu_units<Unit>(gate_up.data<X>() + i * 2 * F, float(p.data<X>()[i]), F, y.data<X>() + i * F);
      });
    });
  });
}

void expert_glu_backward(const Tensor& dy, const Tensor& gate_up, const Tensor& p, ExpertUnit unit, Tensor& dgate_up,
                         Tensor& dp) {
  const std::int64_t F = dy.dim(-1) / p.dim(-1);
  with_real<float, bf16>(dy.dtype(), [&](auto zero) {
    using X = decltype(zero);
    with_expert_unit<float>(unit, [&]<class Unit>() {
      parallel_chunks(p.size(), kExperts, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          store(dp.data<X>()[i],
                expert_glu_units_backward<Unit>(dy.data<X>() + i * F, gate_up.data<X>() + i * 2 * F,
                                                float(p.data<X>()[i]), F, dgate_up.data<X>() + i * 2 * F));
      });
    });
  });
}

}  // namespace sink::cpu
