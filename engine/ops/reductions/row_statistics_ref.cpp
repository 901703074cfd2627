// Reference: the statistics of one row after the other.
#include "engine/ops/reductions/row_statistics.h"

#include "engine/implementation.h"
#include "engine/ops/reductions/row_statistics_math.h"

namespace sink::ref {

void row_statistics(const Tensor& x, Tensor& statistics_3N) {
  const std::int64_t D = x.dim(-1), N = x.size() / D;
  const double* x_D = x.data<double>();
  double *length_N = statistics_3N.data<double>(), *kurtosis_N = length_N + N, *largest_N = kurtosis_N + N;
  for (std::int64_t n = 0; n < N; ++n) {
    const RowStatistics row = row_statistics_of(x_D + n * D, D);
    length_N[n] = row.length;
    kurtosis_N[n] = row.kurtosis;
    largest_N[n] = row.largest;
  }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void row_statistics(const Tensor& x, Tensor& statistics_3N) {
  SINK_CHECK(x.dtype() != DType::I32 && x.rank() > 0 && x.dim(-1) > 0, "row_statistics",
             "expected rows of at least one floating-point element, got " + x.str());
  SINK_CHECK(statistics_3N.dtype() == DType::F64 && statistics_3N.shape() == Shape({3, x.size() / x.dim(-1)}),
             "row_statistics", "expected f64 (3, rows) for " + x.str() + ", got " + statistics_3N.str());
  if (x.size() > 0) SINK_SELECT(x, row_statistics)(x, statistics_3N);
}

}  // namespace sink
