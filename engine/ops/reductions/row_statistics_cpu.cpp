// CPU backend: F32 and BF16 rows, in double, with the bits of the reference.
#include "engine/ops/reductions/row_statistics.h"

#include "engine/ops/reductions/row_statistics_math.h"
#include "engine/threads.h"

namespace sink::cpu {

void row_statistics(const Tensor& x, Tensor& statistics_3N) {
  const std::int64_t D = x.dim(-1), N = x.size() / D;
  double *length_N = statistics_3N.data<double>(), *kurtosis_N = length_N + N, *largest_N = kurtosis_N + N;
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    const auto* x_D = x.data<decltype(zero)>();
    parallel_chunks(N, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const RowStatistics row = row_statistics_of(x_D + n * D, D);
        length_N[n] = row.length;
        kurtosis_N[n] = row.kurtosis;
        largest_N[n] = row.largest;
      }
    });
  });
}

}  // namespace sink::cpu
