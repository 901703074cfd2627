// Reference: sums of squares of blocks, in order.
#include "engine/ops/reductions/partial_squared_norms.h"

#include "engine/implementation.h"

namespace sink::ref {

void partial_squared_norms(const Tensor& x, Tensor& sums) {
  const double* x_i = x.data<double>();
  double* squares = sums.data<double>();
  for (std::int64_t p = 0; p < sums.size(); ++p) {
    squares[p] = 0;
    for (std::int64_t i = p * kSquaredNormBlock; i < (p + 1) * kSquaredNormBlock; ++i) squares[p] += x_i[i] * x_i[i];
  }
}

void sum_squared_norms(const Tensor& sums, const std::vector<Segment>& ranges, Tensor& sum) {
  const double* squares = sums.data<double>();
  double total = 0;
  for (const Segment& range : ranges) {
    double of_range = 0;
    for (std::int64_t p = range.begin; p < range.end; ++p) of_range += squares[p];
    total += of_range;
  }
  *sum.data<double>() = total;
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void partial_squared_norms(const Tensor& x, Tensor& sums) {
  SINK_CHECK(
      x.dtype() != DType::I32 && x.size() % kSquaredNormBlock == 0, "partial_squared_norms",
      "expected floating-point elements in whole blocks of " + std::to_string(kSquaredNormBlock) + ", got " + x.str());
  SINK_CHECK(sums.dtype() == DType::F64 && sums.size() == x.size() / kSquaredNormBlock, "partial_squared_norms",
             "expected an f64 for each block of " + x.str() + ", got " + sums.str());
  if (x.size() > 0) SINK_SELECT(x, partial_squared_norms)(x, sums);
}

void sum_squared_norms(const Tensor& sums, const std::vector<Segment>& ranges, Tensor& sum) {
  SINK_CHECK(
      sums.dtype() == DType::F64 && sum.dtype() == DType::F64 && sum.size() == 1, "sum_squared_norms",
      "expected sums of blocks and one element for their sum, both f64, got " + sums.str() + " and " + sum.str());
  for (const Segment& range : ranges)
    SINK_CHECK(
        0 <= range.begin && range.begin <= range.end && range.end <= sums.size(), "sum_squared_norms",
        "the range [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ") is not in " + sums.str());
  SINK_SELECT(sums, sum_squared_norms)(sums, ranges, sum);
}

}  // namespace sink
