#include "engine/ops/rotary/rotary_cuda.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/rotary/rotary_math.h"

namespace sink::cuda {
namespace {

// A thread has a pair of numbers that are rotated, or one that is not, so y may be x. In a row of D those are the E
// pairs first and the D - 2E others behind.
template <class X>
void rotate_rows(const Tensor& x_BHTD, const RotaryTable& table, float sign, Tensor& y_BHTD) {
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), E = table.cos_TE.dim(1), items = D - E;
  std::int64_t rows = x_BHTD.dim(0) * x_BHTD.dim(1) * T;
  const X* x = x_BHTD.device_data<X>();
  const float *cos = table.cos_TE.device_data<float>(), *sin = table.sin_TE.device_data<float>();
  X* y = y_BHTD.device_data<X>();
  for_each_element(rows * items, [=] __device__(std::int64_t i) {
    std::int64_t row = i / items, e = i % items;
    const X* x_D = x + row * D;
    X* y_D = y + row * D;
    if (e < E) {
      std::int64_t angle = row % T * E + e;
      auto [first, second] =
          rotate(static_cast<float>(x_D[e]), static_cast<float>(x_D[e + E]), cos[angle], sign * sin[angle]);
      store(y_D[e], first);
      store(y_D[e + E], second);
    } else {
      y_D[e + E] = x_D[e + E];
    }
  });
}

}  // namespace

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  with_real<float, bf16>(x_BHTD.dtype(),
                         [&](auto zero) { rotate_rows<decltype(zero)>(x_BHTD, table, inverse ? -1 : 1, y_BHTD); });
}

}  // namespace sink::cuda
