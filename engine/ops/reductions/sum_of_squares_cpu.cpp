// CPU backend: the sum of squares of F32 and BF16 elements, in double.
#include "engine/ops/reductions/sum_of_squares.h"

#include <algorithm>

#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kSumBlock = 1 << 14;  // summed separately; the sums of blocks are added in order

std::int64_t block_count(const Segment& segment) { return (segment.size() + kSumBlock - 1) / kSumBlock; }

std::vector<Segment> blocks_of(const std::vector<Segment>& segments) {
  std::vector<Segment> blocks;
  for (const Segment& segment : segments)
    for (std::int64_t begin = segment.begin; begin < segment.end; begin += kSumBlock)
      blocks.push_back({begin, std::min(segment.end, begin + kSumBlock)});
  return blocks;
}

template <class X>
double sum_of_block(const X* x, const Segment& block) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = block.begin; i < block.end; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum) {
  std::vector<Segment> blocks = blocks_of(segments);
  std::vector<double> partial(blocks.size());
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(static_cast<std::int64_t>(blocks.size()), 2, [&](std::int64_t first, std::int64_t last) {
      for (auto n = static_cast<std::size_t>(first); n < static_cast<std::size_t>(last); ++n)
        partial[n] = sum_of_block(x.data<X>(), blocks[n]);
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

}  // namespace sink::cpu
