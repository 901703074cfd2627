// CUDA backend: head vectors in F32, heads in F32 or BF16.
#include "engine/ops/add_head_vector/add_head_vector.h"

#include <algorithm>

#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 128;  // of a block of head coordinates

// A warp has head h of one position.
template <class X>
__global__ void add_head_vector_kernel(const X* o_BHTD, const float* v_HD, X* y_BHTD, std::int64_t B, std::int64_t T,
                                       std::int64_t D) {
  std::int64_t position = row_of_warp(), h = blockIdx.y, H = gridDim.y;
  if (position >= B * T) return;
  std::int64_t first = ((position / T * H + h) * T + position % T) * D;
  for (std::int64_t d = lane_of_thread(); d < D; d += kWarp)
    store(y_BHTD[first + d], static_cast<float>(o_BHTD[first + d]) + v_HD[h * D + d]);
}

// partial[chunk, hd] = sum of dy_hd over the positions of the chunk, of all B T one sequence after the other; a
// coordinate hd has a thread. In double, as add_head_vector.h promises.
template <class X>
__global__ void sum_positions_kernel(const X* dy_BHTD, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t D,
                                     std::int64_t positions_per_chunk, double* partial) {
  std::int64_t hd = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (hd >= H * D) return;
  std::int64_t first = blockIdx.y * positions_per_chunk, last = first + positions_per_chunk;
  last = last < B * T ? last : B * T;
  double sum = 0;
  while (first < last) {  // the positions of the chunk in one sequence
    std::int64_t t = first % T, end = t + last - first < T ? t + last - first : T;
    const X* dy_TD = dy_BHTD + (first / T * H + hd / D) * T * D + hd % D;
    first += end - t;
    for (; t < end; ++t) sum += static_cast<double>(static_cast<float>(dy_TD[t * D]));
  }
  partial[blockIdx.y * H * D + hd] = sum;
}

__global__ void add_chunks_kernel(const double* partial, std::int64_t chunks, std::int64_t HD, float* dv_HD,
                                  bool accumulate) {
  std::int64_t hd = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (hd >= HD) return;
  double sum = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * HD + hd];
  dv_HD[hd] = static_cast<float>(accumulate ? static_cast<double>(dv_HD[hd]) + sum : sum);
}

template <class X>
void forward(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD) {
  std::int64_t B = o_BHTD.dim(0), H = o_BHTD.dim(1), T = o_BHTD.dim(2), D = o_BHTD.dim(3);
  Grid grid = grid_of_rows(B * T);
  grid.blocks.y = static_cast<unsigned>(H);
  launch(grid, add_head_vector_kernel<X>, o_BHTD.device_data<X>(), v_HD.device_data<float>(), y_BHTD.device_data<X>(),
         B, T, D);
}

template <class X>
void backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate) {
  std::int64_t B = dy_BHTD.dim(0), H = dy_BHTD.dim(1), T = dy_BHTD.dim(2), D = dy_BHTD.dim(3);
  std::int64_t positions_per_chunk = std::max<std::int64_t>(32, (B * T + 127) / 128);
  unsigned chunks = blocks_for(B * T, positions_per_chunk), blocks = blocks_for(H * D, kThreads);
  Tensor partial = Tensor::empty({chunks, H * D}, DType::F64, Device::cuda);
  launch({dim3(blocks, chunks), kThreads}, sum_positions_kernel<X>, dy_BHTD.device_data<X>(), B, H, T, D,
         positions_per_chunk, partial.device_data<double>());
  launch({blocks, kThreads}, add_chunks_kernel, partial.device_data<double>(), chunks, H * D,
         dv_HD.device_data<float>(), accumulate);
}

}  // namespace

void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD) {
  if (o_BHTD.size() == 0) return;
  with_real<float, bf16>(o_BHTD.dtype(), [&](auto zero) { forward<decltype(zero)>(o_BHTD, v_HD, y_BHTD); });
}

void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate) {
  if (dv_HD.size() == 0) return;
  with_real<float, bf16>(dy_BHTD.dtype(), [&](auto zero) { backward<decltype(zero)>(dy_BHTD, dv_HD, accumulate); });
}

}  // namespace sink::cuda
