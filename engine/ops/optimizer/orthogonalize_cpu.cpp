// CPU backend: the Newton-Schulz iteration in F32.
#include "engine/ops/optimizer/orthogonalize.h"

#include <cmath>

#include "engine/ops/optimizer/newton_schulz.h"
#include "engine/ops/reductions/sum_of_squares.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

// y = a x + b y; b = 0 does not read y, which may be anything.
void combine_numbers(float a, const Tensor& x, float b, Tensor& y) {
  const float* x_i = x.data<float>();
  float* y_i = y.data<float>();
  parallel_chunks(y.size(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
    if (b == 0) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) y_i[i] = a * x_i[i];
    } else {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) y_i[i] = a * x_i[i] + b * y_i[i];
    }
  });
}

}  // namespace

void orthogonalize(const Tensor& x_MN, Tensor& y_MN) {
  Tensor squares = Tensor::empty({1}, DType::F64);
  sink::sum_of_squares(x_MN, {{0, x_MN.size()}}, squares);
  combine_numbers(static_cast<float>(1 / (std::sqrt(squares.item()) + NewtonSchulz::epsilon)), x_MN, 0, y_MN);
  newton_schulz(y_MN, [](double a, const Tensor& from, double b, Tensor& to) {
    combine_numbers(static_cast<float>(a), from, static_cast<float>(b), to);
  });
}

}  // namespace sink::cpu
