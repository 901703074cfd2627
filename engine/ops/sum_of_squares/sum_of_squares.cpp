#include "engine/ops/sum_of_squares/sum_of_squares.h"

#include "engine/implementation.h"
#include "engine/ops/sum_of_squares/sum_of_squares_cpu.h"
#include "engine/ops/sum_of_squares/sum_of_squares_cuda.h"
#include "engine/ops/sum_of_squares/sum_of_squares_ref.h"

namespace sink {

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum) {
  SINK_CHECK(x.dtype() != DType::I32, "sum_of_squares", "expected real numbers, got " + x.str());
  SINK_CHECK(sum.size() == 1 && sum.dtype() == DType::F64, "sum_of_squares",
             "expected one f64 for the sum, got " + sum.str());
  for (const Segment& segment : segments)
    SINK_CHECK(0 <= segment.begin && segment.begin <= segment.end && segment.end <= x.size(), "sum_of_squares",
               "the segment [" + std::to_string(segment.begin) + ", " + std::to_string(segment.end) + ") is not in " +
                   x.str());
  SINK_SELECT(x, sum_of_squares)(x, segments, sum);
}

}  // namespace sink
