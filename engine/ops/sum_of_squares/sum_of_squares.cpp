#include "engine/ops/sum_of_squares/sum_of_squares.h"

#include <algorithm>

#include "engine/ops/sum_of_squares/sum_of_squares_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::int64_t kBlock = 1 << 14;  // summed alone; the sums of blocks are added in order

std::int64_t block_count(const Segment& segment) { return (segment.size() + kBlock - 1) / kBlock; }

std::vector<Segment> blocks_of(const std::vector<Segment>& segments) {
  std::vector<Segment> blocks;
  for (const Segment& segment : segments)
    for (std::int64_t begin = segment.begin; begin < segment.end; begin += kBlock)
      blocks.push_back({begin, std::min(segment.end, begin + kBlock)});
  return blocks;
}

}  // namespace

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum) {
  SINK_CHECK(sum.size() == 1 && sum.dtype() == DType::F64, "sum_of_squares",
             "expected one f64 for the sum, got " + sum.str());
  for (const Segment& segment : segments)
    SINK_CHECK(0 <= segment.begin && segment.begin <= segment.end && segment.end <= x.size(), "sum_of_squares",
               "the segment [" + std::to_string(segment.begin) + ", " + std::to_string(segment.end) + ") is not in " +
                   x.str());
  std::vector<Segment> blocks = blocks_of(segments);
  std::vector<double> partial(blocks.size());
  with_real(x.dtype(), [&](auto zero) {
    using R = decltype(zero);
    parallel_chunks(static_cast<std::int64_t>(blocks.size()), 2, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        const Segment& block = blocks[static_cast<std::size_t>(n)];
        partial[static_cast<std::size_t>(n)] = ref::sum_of_squares(x.data<R>(), block.begin, block.end);
      }
    });
  });
  double total = 0;
  const double* next = partial.data();
  for (const Segment& segment : segments) {
    double of_segment = 0;
    for (const double* end = next + block_count(segment); next < end; ++next) of_segment += *next;
    total += of_segment;
  }
  *sum.data<double>() = total;
}

}  // namespace sink
