#include "engine/ops/sum_of_squares/sum_of_squares_cpu.h"

#include <vector>

#include "engine/threads.h"

namespace sink::cpu {
namespace {

template <class X>
double sum_of_range(const X* x, std::int64_t begin, std::int64_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = begin; i < end; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace

double sum_of_squares(const Tensor& x) {
  constexpr std::int64_t kBlock = 1 << 14;  // summed alone, then in order
  std::int64_t blocks = (x.size() + kBlock - 1) / kBlock;
  std::vector<double> partial(static_cast<std::size_t>(blocks));
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(blocks, 2, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block)
        partial[static_cast<std::size_t>(block)] =
            sum_of_range(x.data<X>(), block * kBlock, std::min(x.size(), (block + 1) * kBlock));
    });
  });
  double sum = 0;
  for (double part : partial) sum += part;
  return sum;
}

}  // namespace sink::cpu
