#include "engine/ops/sum_of_squares/sum_of_squares_ref.h"

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
