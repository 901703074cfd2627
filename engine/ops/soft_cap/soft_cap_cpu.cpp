// CPU backend: F32 and BF16, computed in float, on all threads.
#include "engine/ops/soft_cap/soft_cap.h"

#include "engine/ops/soft_cap/soft_cap_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kElements = 4096;

}  // namespace

void soft_cap(const Tensor& x, double cap, Tensor& y) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(x.size(), kElements, [&](std::int64_t begin, std::int64_t end) {
      const X* from = x.data<X>();
      X* to = y.data<X>();
      const auto c = static_cast<float>(cap);
#pragma omp simd
      for (std::int64_t n = begin; n < end; ++n) store(to[n], soft_capped(float(from[n]), c));
    });
  });
}

void soft_cap_backward(const Tensor& dy, const Tensor& y, double cap, Tensor& dx) {
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(y.size(), kElements, [&](std::int64_t begin, std::int64_t end) {
      const X *above = dy.data<X>(), *capped = y.data<X>();
      X* to = dx.data<X>();
      const auto c = static_cast<float>(cap);
#pragma omp simd
      for (std::int64_t n = begin; n < end; ++n) store(to[n], float(above[n]) * soft_cap_slope(float(capped[n]), c));
    });
  });
}

}  // namespace sink::cpu
