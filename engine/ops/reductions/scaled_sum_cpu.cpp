// CPU backend: the sum of F32 and BF16 elements in order, in double.
#include "engine/ops/reductions/scaled_sum.h"

namespace sink::cpu {

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y) {
  double sum = 0;
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    const auto* x_i = x.data<decltype(zero)>();
    for (std::int64_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x_i[i]);
  });
  y.fill(factor * sum / divisor);
}

}  // namespace sink::cpu
