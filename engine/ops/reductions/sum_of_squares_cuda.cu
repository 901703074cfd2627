// CUDA backend: sums the squares of blocks of F32 and BF16 elements in float by a fixed tree, so squares beyond F32
// make the sum infinite, and the blocks in order, in double.
#include "engine/ops/reductions/sum_of_squares.h"

#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlock = 1 << 16;  // elements that are summed separately

// Segments passed as kernel arguments, which every GPU limits to 4 KiB. Thread blocks first_block[n] to
// first_block[n + 1] sum segment n.
struct Group {
  static constexpr int kMax = 128;
  Segment segments[kMax];
  unsigned first_block[kMax + 1] = {};
  int count = 0;

  bool full() const { return count == kMax; }
  unsigned blocks() const { return first_block[count]; }
  void add(const Segment& segment) {
    segments[count] = segment;
    first_block[count + 1] = first_block[count] + static_cast<unsigned>((segment.size() + kBlock - 1) / kBlock);
    ++count;
  }
};

template <class X>
__global__ void partial_sums_kernel(const X* x, const Group group, float* partial) {
  int n = 0;
  while (group.first_block[n + 1] <= blockIdx.x) ++n;
  std::int64_t begin = group.segments[n].begin + std::int64_t{blockIdx.x - group.first_block[n]} * kBlock;
  std::int64_t end = begin + kBlock < group.segments[n].end ? begin + kBlock : group.segments[n].end;
  float sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    float x_i = static_cast<float>(x[i]);
    sum += x_i * x_i;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// One thread block, in double, so that sums of a large model lose no digits. A thread sums the blocks of one segment;
// then thread 0 adds the segments in order.
__global__ void add_in_order_kernel(const float* partial, const Group group, double* sum) {
  double* of_segments = shared_memory<double>();
  int n = static_cast<int>(threadIdx.x);
  double of_segment = 0;
  if (n < group.count)
    for (unsigned block = group.first_block[n]; block < group.first_block[n + 1]; ++block)
      of_segment += static_cast<double>(partial[block]);
  of_segments[n] = of_segment;
  sync_block();
  if (n > 0) return;
  double total = *sum;
  for (int segment = 0; segment < group.count; ++segment) total += of_segments[segment];
  *sum = total;
}

template <class X>
void add_group(const X* x, const Group& group, Tensor& sum) {
  if (group.blocks() == 0) return;
  Tensor partial = Tensor::empty({group.blocks()}, DType::F32, Device::cuda);
  launch({group.blocks(), kThreads, kThreads / kWarp * sizeof(float)}, partial_sums_kernel<X>, x, group,
         partial.device_data<float>());
  launch({1, Group::kMax, Group::kMax * sizeof(double)}, add_in_order_kernel, partial.device_data<float>(), group,
         sum.device_data<double>());
}

template <class X>
void add_squares(const X* x, const std::vector<Segment>& segments, Tensor& sum) {
  Group group;
  for (const Segment& segment : segments) {
    if (group.full()) {
      add_group(x, group, sum);
      group = Group();
    }
    group.add(segment);
  }
  add_group(x, group, sum);
}

}  // namespace

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum) {
  sum.fill(0);
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    add_squares(x.device_data<X>(), segments, sum);
  });
}

}  // namespace sink::cuda
