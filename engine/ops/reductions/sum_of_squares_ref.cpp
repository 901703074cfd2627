// Reference: the sum of squares, in order.
#include "engine/ops/reductions/sum_of_squares.h"

#include "engine/implementation.h"

namespace sink::ref {

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum) {
  const double* x_i = x.data<double>();
  double total = 0;
  for (const Segment& segment : segments) {
    double of_segment = 0;
    for (std::int64_t i = segment.begin; i < segment.end; ++i) of_segment += x_i[i] * x_i[i];
    total += of_segment;
  }
  *sum.data<double>() = total;
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum) {
  SINK_CHECK(x.dtype() != DType::I32, "sum_of_squares", "expected floating-point elements, got " + x.str());
  SINK_CHECK(sum.size() == 1 && sum.dtype() == DType::F64, "sum_of_squares",
             "expected a sum of one f64, got " + sum.str());
  for (const Segment& segment : segments)
    SINK_CHECK(0 <= segment.begin && segment.begin <= segment.end && segment.end <= x.size(), "sum_of_squares",
               "the segment [" + std::to_string(segment.begin) + ", " + std::to_string(segment.end) + ") is not in " +
                   x.str());
  SINK_SELECT(x, sum_of_squares)(x, segments, sum);
}

}  // namespace sink
