// CPU backend: sums of squares of blocks of F32 and BF16 elements, in double.
#include "engine/ops/reductions/partial_squared_norms.h"

#include "engine/threads.h"

namespace sink::cpu {
namespace {

template <class X>
double sum_of_block(const X* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < kSquaredNormBlock; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace

void partial_squared_norms(const Tensor& x, Tensor& sums) {
  double* squares = sums.data<double>();
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    const auto* values = x.data<decltype(zero)>();
    parallel_chunks(sums.size(), 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) squares[p] = sum_of_block(values + p * kSquaredNormBlock);
    });
  });
}

// Few elements, always F64.
void sum_squared_norms(const Tensor& sums, const std::vector<Segment>& ranges, Tensor& sum) {
  ref::sum_squared_norms(sums, ranges, sum);
}

}  // namespace sink::cpu
