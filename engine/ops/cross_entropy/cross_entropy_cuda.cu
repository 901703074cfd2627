// CUDA backend: cross-entropy of F32 and BF16 logits, computed in float.
#include "engine/ops/cross_entropy/cross_entropy.h"

#include <cfloat>

#include "engine/cuda/approx_instructions.cuh"
#include "engine/cuda/vectors.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

// One block per row, because rows are long. Thread t has the N logits that begin at t N, (t + threads) N and so on.
// With this many threads (fewer where rows are short), the rows in flight stay in the GPU's L2 cache until they are
// read again.
constexpr int kMostThreads = 1024;

struct LogSumExp {
  float m;  // row maximum
  float S;  // sum_v exp(logits_v - m)
};

// exp(x) by one multiplication and one ex2. The kernels call it with x = logit - m <= 0: subtracting the maximum before
// the multiplication keeps the relative error near 2^-22 for logits of any size.
__device__ inline float exp_approx(float x) { return exp2_approx(x * 1.44269504f); }

// The log-sum-exp of the thread's own logits, in one pass: where the maximum grows, the sum is rescaled. Without logits
// it is (lowest, 0). fmaxf ignores a NaN; the sum does not.
template <int N, class X>
__device__ LogSumExp log_sum_exp_of_thread(const X* logits_V, std::int64_t V) {
  LogSumExp own{-FLT_MAX, 0};
  for (std::int64_t v = std::int64_t{threadIdx.x} * N; v < V; v += std::int64_t{blockDim.x} * N) {
    auto logits = load_floats<N>(logits_V + v);
    float m = own.m;
    for (int n = 0; n < N; ++n) m = fmaxf(logits[n], m);
    own.S *= exp_approx(own.m - m);
    for (int n = 0; n < N; ++n) own.S += exp_approx(logits[n] - m);
    own.m = m;
  }
  return own;
}

// The log-sum-exp of the row, with the same bits in every thread. When it returns, all threads have read their logits.
// Shared memory holds a maximum and a sum per warp.
template <int N, class X>
__device__ LogSumExp log_sum_exp(const X* logits_V, std::int64_t V) {
  float *max_of_warps = shared_memory<float>(), *sum_of_warps = max_of_warps + kMostThreads / kWarp;
  int warp = static_cast<int>(threadIdx.x) / kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  LogSumExp own = log_sum_exp_of_thread<N>(logits_V, V);
  float m = warp_max(own.m), sum = warp_sum(own.S * exp_approx(own.m - m));
  if (lane_of_thread() == 0) {
    max_of_warps[warp] = m;
    sum_of_warps[warp] = sum;
  }
  sync_block();
  for (int w = 0; w < warps; ++w) m = fmaxf(max_of_warps[w], m);
  float S = 0;
  for (int w = 0; w < warps; ++w) S += sum_of_warps[w] * exp_approx(max_of_warps[w] - m);
  return {m, S};
}

template <int N, class X>
__global__ void __launch_bounds__(kMostThreads)
    cross_entropy_kernel(std::int64_t V, const X* logits_NV, const std::int32_t* targets_N, float* loss_N) {
  std::int64_t row = blockIdx.x;
  const X* logits_V = logits_NV + row * V;
  std::int32_t target = targets_N[row];
  float loss = 0;
  if (target >= 0) {
    LogSumExp sum = log_sum_exp<N>(logits_V, V);
    loss = sum.m + logf(sum.S) - static_cast<float>(logits_V[target]);
  }
  if (threadIdx.x == 0) loss_N[row] = loss;
}

// The logits become their gradient, p_v - [v = target] times gradient_scale.
template <int N, class X>
__global__ void __launch_bounds__(kMostThreads)
    cross_entropy_to_gradient_kernel(std::int64_t V, X* logits_NV, const std::int32_t* targets_N, float gradient_scale,
                                     float* loss_N) {
  std::int64_t row = blockIdx.x;
  X* logits_V = logits_NV + row * V;
  std::int32_t target = targets_N[row];
  if (target < 0) {
    for (std::int64_t v = std::int64_t{threadIdx.x} * N; v < V; v += std::int64_t{blockDim.x} * N)
      store_vector(logits_V + v, Vector<float, N>{});
    if (threadIdx.x == 0) loss_N[row] = 0;
    return;
  }
  float logit = static_cast<float>(logits_V[target]);  // before its thread overwrites it
  LogSumExp sum = log_sum_exp<N>(logits_V, V);
  float p_scale = gradient_scale / sum.S;
  for (std::int64_t v = std::int64_t{threadIdx.x} * N; v < V; v += std::int64_t{blockDim.x} * N) {
    auto p = load_floats<N>(logits_V + v);
    for (int n = 0; n < N; ++n) p[n] = exp_approx(p[n] - sum.m) * p_scale;
    if (v <= target && target < v + N)
      for (int n = 0; n < N; ++n) p[n] -= v + n == target ? gradient_scale : 0.0f;
    store_vector(logits_V + v, p);
  }
  if (threadIdx.x == 0) loss_N[row] = sum.m + logf(sum.S) - logit;
}

Grid grid_of_logits(const Tensor& logits_NV) {
  unsigned wanted = blocks_for(logits_NV.dim(1), 4 * kWarp) * kWarp;
  return {static_cast<unsigned>(logits_NV.dim(0)), wanted < kMostThreads ? wanted : kMostThreads,
          2 * kMostThreads / kWarp * sizeof(float)};
}

template <class X>
void loss_of(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  const X* logits = logits_NV.device_data<X>();
  std::int64_t V = logits_NV.dim(1);
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(V, logits), [&](auto width) {
    launch(grid_of_logits(logits_NV), cross_entropy_kernel<decltype(width)::value, X>, V, logits,
           targets_N.device_data<std::int32_t>(), loss_N.device_data<float>());
  });
}

template <class X>
void to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  X* logits = logits_NV.device_data<X>();
  std::int64_t V = logits_NV.dim(1);
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(V, logits), [&](auto width) {
    launch(grid_of_logits(logits_NV), cross_entropy_to_gradient_kernel<decltype(width)::value, X>, V, logits,
           targets_N.device_data<std::int32_t>(), gradient_scale, loss_N.device_data<float>());
  });
}

}  // namespace

void cross_entropy(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  if (logits_NV.size() == 0) return;
  with_real<float, bf16>(logits_NV.dtype(), [&](auto zero) { loss_of<decltype(zero)>(logits_NV, targets_N, loss_N); });
}

void cross_entropy_to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  if (logits_NV.size() == 0) return;
  with_real<float, bf16>(logits_NV.dtype(),
                         [&](auto zero) { to_gradient<decltype(zero)>(logits_NV, targets_N, gradient_scale, loss_N); });
}

}  // namespace sink::cuda
