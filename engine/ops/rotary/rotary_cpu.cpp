#include "engine/ops/rotary/rotary_cpu.h"

#include "engine/ops/rotary/rotary_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

// The first 2E of D numbers by the angles of their position, or by the opposite ones where `sign` is -1.
template <class X>
[[gnu::noinline]] void rotate_row(const X* x_D, const float* cos_E, const float* sin_E, float sign, X* y_D,
                                  std::int64_t E, std::int64_t D) {
#pragma omp simd
  for (std::int64_t e = 0; e < E; ++e) {
    auto [first, second] = rotate(float(x_D[e]), float(x_D[e + E]), cos_E[e], sign * sin_E[e]);
    store(y_D[e], first);
    store(y_D[e + E], second);
  }
  if (y_D != x_D) std::copy(x_D + 2 * E, x_D + D, y_D + 2 * E);
}

}  // namespace

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), E = table.cos_TE.dim(1);
  std::int64_t rows = x_BHTD.size() / std::max<std::int64_t>(D, 1);
  const float *cos = table.cos_TE.data<float>(), *sin = table.sin_TE.data<float>();
  float sign = inverse ? -1 : 1;
  with_real<float, bf16>(x_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(rows, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::int64_t t = row % T;
        rotate_row(x_BHTD.data<X>() + row * D, cos + t * E, sin + t * E, sign, y_BHTD.data<X>() + row * D, E, D);
      }
    });
  });
}

}  // namespace sink::cpu
