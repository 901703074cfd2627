#include "engine/ops/embedding/embedding_cuda.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 128;  // of a block of columns

// A warp per token, which copies its row.
__global__ void embedding_kernel(std::int64_t N, std::int64_t C, const std::int32_t* tokens_N, const float* w,
                                 float* x) {
  std::int64_t n = row_of_warp();
  if (n >= N) return;
  const float* w_C = w + tokens_N[n] * C;
  for (std::int64_t c = lane_of_thread(); c < C; c += kWarp) x[n * C + c] = w_C[c];
}

// The places n = 0 ... N - 1, sorted by token and then by place: those of a token lie side by side in `sorted`, from
// begin[n] on, where n is the token's first place; count[n] says how many. At its other places count is 0.
struct PlacesOfTokens {
  std::int32_t *sorted, *begin, *count;
};

// Every place counts those before it in that order: N^2 comparisons of numbers that lie in the cache, the same for any
// V and any distribution of the tokens, and no thread waits for another.
void sort_places(std::int64_t N, const std::int32_t* tokens_N, const PlacesOfTokens& places) {
  for_each_element(N, [=] __device__(std::int64_t n) {
    std::int32_t token = tokens_N[n], smaller = 0, same_before = 0, same_after = 0;
    for (std::int64_t m = 0; m < n; ++m) {
      smaller += tokens_N[m] < token;
      same_before += tokens_N[m] == token;
    }
    for (std::int64_t m = n + 1; m < N; ++m) {
      smaller += tokens_N[m] < token;
      same_after += tokens_N[m] == token;
    }
    places.sorted[smaller + same_before] = static_cast<std::int32_t>(n);
    places.begin[n] = smaller;
    places.count[n] = same_before == 0 ? 1 + same_after : 0;
  });
}

// Row token(n) of dw += dx of all places of that token in order, where n is the first of them: a block has 128 columns
// of it. One after the other, so a token at very many places is what the kernel takes longest for.
__global__ void embedding_backward_kernel(std::int64_t C, const std::int32_t* tokens_N, PlacesOfTokens places,
                                          const float* dx, float* dw) {
  std::int64_t n = blockIdx.x, c = static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
  std::int32_t count = places.count[n];
  if (count == 0 || c >= C) return;
  const std::int32_t* place = places.sorted + places.begin[n];
  float sum = dw[tokens_N[n] * C + c];
  for (std::int32_t k = 0; k < count; ++k) sum += dx[place[k] * C + c];
  dw[tokens_N[n] * C + c] = sum;
}

}  // namespace

void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC) {
  std::int64_t N = tokens_BT.size();
  launch(grid_of_rows(N), embedding_kernel, N, w_VC.dim(1), tokens_BT.device_data<std::int32_t>(),
         w_VC.device_data<float>(), x_BTC.device_data<float>());
}

void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate) {
  if (!accumulate) dw_VC.fill(0);
  std::int64_t N = tokens_BT.size(), C = dw_VC.dim(1);
  if (N == 0) return;
  Tensor numbers = Tensor::empty({3, N}, DType::I32, Device::cuda);
  std::int32_t* sorted = numbers.device_data<std::int32_t>();
  PlacesOfTokens places{sorted, sorted + N, sorted + 2 * N};
  const std::int32_t* tokens_N = tokens_BT.device_data<std::int32_t>();
  sort_places(N, tokens_N, places);
  dim3 blocks(static_cast<unsigned>(N), blocks_for(C, kThreads));
  launch({blocks, kThreads}, embedding_backward_kernel, C, tokens_N, places, dx_BTC.device_data<float>(),
         dw_VC.device_data<float>());
}

}  // namespace sink::cuda
