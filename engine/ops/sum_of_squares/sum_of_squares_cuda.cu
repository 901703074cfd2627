#include "engine/ops/sum_of_squares/sum_of_squares_cuda.h"

#include <algorithm>

#include "engine/cuda/elements.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlock = 1 << 16;  // numbers that are summed alone

// For every block of the grid: the number of its segment, and the begin and end of what it sums. In F64, which holds
// every count below 2^53; I32 would end at 2^31.
constexpr int kColumns = 3;
Tensor table_of_blocks(const std::vector<Segment>& segments) {
  std::vector<double> table;
  for (std::size_t n = 0; n < segments.size(); ++n)
    for (std::int64_t begin = segments[n].begin; begin < segments[n].end; begin += kBlock)
      for (std::int64_t number : {static_cast<std::int64_t>(n), begin, std::min(segments[n].end, begin + kBlock)})
        table.push_back(static_cast<double>(number));
  std::int64_t blocks = static_cast<std::int64_t>(table.size()) / kColumns;
  return Tensor::from({blocks, kColumns}, table).to(Device::cuda);
}

template <class X>
__global__ void partial_sums_kernel(const X* x, const double* table, float* partial) {
  const double* of_block = table + std::int64_t{blockIdx.x} * kColumns;
  std::int64_t begin = static_cast<std::int64_t>(of_block[1]), end = static_cast<std::int64_t>(of_block[2]);
  float sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    float x_i = static_cast<float>(x[i]);
    sum += x_i * x_i;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// In double, the type of the sum, so that the parts of a large model lose nothing when they are added: each segment
// alone and then in order, as the contract says.
void add_in_order(const Tensor& table, const Tensor& partial, Tensor& sum) {
  std::int64_t blocks = partial.size();
  const double* rows = table.device_data<double>();
  const float* of_block = partial.device_data<float>();
  double* out = sum.device_data<double>();
  for_each_element(1, [=] __device__(std::int64_t) {
    double total = 0, of_segment = 0;
    for (std::int64_t block = 0; block < blocks; ++block) {
      bool begins_segment = block > 0 && rows[block * kColumns] != rows[(block - 1) * kColumns];
      if (begins_segment) total += of_segment;
      of_segment = (begins_segment ? 0.0 : of_segment) + static_cast<double>(of_block[block]);
    }
    *out = total + of_segment;
  });
}

template <class X>
void partial_sums(const Tensor& x, const Tensor& table, Tensor& partial) {
  Grid grid{static_cast<unsigned>(partial.size()), kThreads, kThreads / kWarp * sizeof(float)};
  launch(grid, partial_sums_kernel<X>, x.device_data<X>(), table.device_data<double>(), partial.device_data<float>());
}

}  // namespace

void sum_of_squares(const Tensor& x, const std::vector<Segment>& segments, Tensor& sum) {
  Tensor table = table_of_blocks(segments);
  if (table.size() == 0) return sum.fill(0);
  Tensor partial = Tensor::empty({table.dim(0)}, DType::F32, Device::cuda);
  with_real<float, bf16>(x.dtype(), [&](auto zero) { partial_sums<decltype(zero)>(x, table, partial); });
  add_in_order(table, partial, sum);
}

}  // namespace sink::cuda
