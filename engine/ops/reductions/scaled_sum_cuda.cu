// CUDA backend: sums blocks of F32 and BF16 elements in float by a fixed tree, and the blocks in order, in double.
#include "engine/ops/reductions/scaled_sum.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlock = 1 << 12;  // elements that are summed separately

template <class X>
__global__ void partial_sums_kernel(std::int64_t count, const X* x, float* partial) {
  std::int64_t begin = blockIdx.x * kBlock, end = begin + kBlock < count ? begin + kBlock : count;
  float sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) sum += static_cast<float>(x[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// In double, as a large sum in float would lose the sum of a block. Rounded once, to the type of y.
template <class Y>
void add_in_order(const Tensor& partial, double factor, double divisor, Tensor& y) {
  std::int64_t blocks = partial.size();
  const float* of_block = partial.device_data<float>();
  Y* out = y.device_data<Y>();
  for_each_element(1, [=] __device__(std::int64_t) {
    double sum = 0;
    for (std::int64_t block = 0; block < blocks; ++block) sum += static_cast<double>(of_block[block]);
    store(*out, factor * sum / divisor);
  });
}

template <class X>
Tensor partial_sums(const Tensor& x) {
  unsigned blocks = blocks_for(x.size(), kBlock);
  Tensor partial = Tensor::empty({blocks}, DType::F32, Device::cuda);
  launch({blocks, kThreads, kThreads / kWarp * sizeof(float)}, partial_sums_kernel<X>, x.size(), x.device_data<X>(),
         partial.device_data<float>());
  return partial;
}

}  // namespace

void scaled_sum(const Tensor& x, double factor, double divisor, Tensor& y) {
  Tensor partial = with_real<float, bf16>(x.dtype(), [&](auto zero) { return partial_sums<decltype(zero)>(x); });
  with_real(y.dtype(), [&](auto zero) { add_in_order<decltype(zero)>(partial, factor, divisor, y); });
}

}  // namespace sink::cuda
