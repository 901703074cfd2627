// On the CUDA device: the squares of a piece of F32 or BF16 numbers in float by a fixed tree, the pieces of a section
// in double: 256 sums of every 256th piece, added in order.
#include "engine/ops/reductions/partial_squared_norms.h"

#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 256;

template <class X>
__global__ void partial_squared_norms_kernel(const X* x, double* squares) {
  const X* piece = x + std::int64_t{blockIdx.x} * kSquaresPiece;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < kSquaresPiece; i += kThreads) {
    float x_i = static_cast<float>(piece[i]);
    sum += x_i * x_i;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) squares[blockIdx.x] = static_cast<double>(sum);
}

// One block adds the pieces [begin, end) to `sum`.
__global__ void add_section_kernel(const double* squares, std::int64_t begin, std::int64_t end, double* sum) {
  double* of_threads = shared_memory<double>();
  double of_thread = 0;
  for (std::int64_t p = begin + threadIdx.x; p < end; p += kThreads) of_thread += squares[p];
  of_threads[threadIdx.x] = of_thread;
  sync_block();
  if (threadIdx.x > 0) return;
  double of_section = 0;
  for (int t = 0; t < kThreads; ++t) of_section += of_threads[t];
  *sum += of_section;
}

}  // namespace

void partial_squared_norms(const Tensor& x, Tensor& sums) {
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    launch({static_cast<unsigned>(sums.size()), kThreads, kThreads / kWarp * sizeof(float)},
           partial_squared_norms_kernel<X>, x.device_data<X>(), sums.device_data<double>());
  });
}

void sum_pieces(const Tensor& sums, const std::vector<Segment>& sections, Tensor& sum) {
  sum.fill(0);
  for (const Segment& section : sections)
    launch({1, kThreads, kThreads * sizeof(double)}, add_section_kernel, sums.device_data<double>(), section.begin,
           section.end, sum.device_data<double>());
}

}  // namespace sink::cuda
