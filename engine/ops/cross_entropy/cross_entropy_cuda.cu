#include "engine/ops/cross_entropy/cross_entropy_cuda.h"

#include "engine/cuda/warp.cuh"
#include "engine/vector_math.h"

namespace sink::cuda {
namespace {

// A block per row, as rows are long; thread t has the logits t, t + kThreads, ... of it.
constexpr int kThreads = 256, kWarps = kThreads / kWarp;

struct LogSumExp {
  float m;  // row maximum
  float S;  // sum_v exp(logits_v - m)
};

// Of all threads, in each the same bits; what they read of the logits before, none has changed yet. Shared memory holds
// a maximum and a sum per warp.
template <class X>
__device__ LogSumExp log_sum_exp(const X* logits_V, std::int64_t V) {
  float *max_of_warps = shared_memory<float>(), *sum_of_warps = max_of_warps + kWarps;
  int warp = static_cast<int>(threadIdx.x) / kWarp;
  float m = static_cast<float>(logits_V[0]);
  for (std::int64_t v = threadIdx.x; v < V; v += kThreads) {
    float logit = static_cast<float>(logits_V[v]);
    m = logit > m ? logit : m;
  }
  m = warp_max(m);
  if (lane_of_thread() == 0) max_of_warps[warp] = m;
  sync_block();
  for (int w = 0; w < kWarps; ++w) m = max_of_warps[w] > m ? max_of_warps[w] : m;
  float sum = 0;
  for (std::int64_t v = threadIdx.x; v < V; v += kThreads) sum += exp_fast(static_cast<float>(logits_V[v]) - m);
  sum = warp_sum(sum);
  if (lane_of_thread() == 0) sum_of_warps[warp] = sum;
  sync_block();
  float S = 0;
  for (int w = 0; w < kWarps; ++w) S += sum_of_warps[w];
  return {m, S};
}

template <class X>
__global__ void cross_entropy_kernel(std::int64_t V, const X* logits_NV, const std::int32_t* targets_N, float* loss_N) {
  std::int64_t n = blockIdx.x;
  const X* logits_V = logits_NV + n * V;
  std::int32_t target = targets_N[n];
  float loss = 0;
  if (target >= 0) {
    LogSumExp row = log_sum_exp(logits_V, V);
    loss = row.m + logf(row.S) - static_cast<float>(logits_V[target]);
  }
  if (threadIdx.x == 0) loss_N[n] = loss;
}

// The logits become their gradient, p_v - [v = target] times gradient_scale.
template <class X>
__global__ void cross_entropy_to_gradient_kernel(std::int64_t V, X* logits_NV, const std::int32_t* targets_N,
                                                 float gradient_scale, float* loss_N) {
  std::int64_t n = blockIdx.x;
  X* logits_V = logits_NV + n * V;
  std::int32_t target = targets_N[n];
  if (target < 0) {
    for (std::int64_t v = threadIdx.x; v < V; v += kThreads) store(logits_V[v], 0.0f);
    if (threadIdx.x == 0) loss_N[n] = 0;
    return;
  }
  float logit = static_cast<float>(logits_V[target]);  // before its thread overwrites it
  LogSumExp row = log_sum_exp(logits_V, V);
  float p_scale = gradient_scale / row.S;
  for (std::int64_t v = threadIdx.x; v < V; v += kThreads) {
    float p = exp_fast(static_cast<float>(logits_V[v]) - row.m) * p_scale;
    store(logits_V[v], v == target ? p - gradient_scale : p);
  }
  if (threadIdx.x == 0) loss_N[n] = row.m + logf(row.S) - logit;
}

Grid grid_of_logits(const Tensor& logits_NV) {
  return {static_cast<unsigned>(logits_NV.dim(0)), kThreads, 2 * kWarps * sizeof(float)};
}

template <class X>
void loss_of(const Tensor& logits_NV, const Tensor& targets_N, Tensor& loss_N) {
  launch(grid_of_logits(logits_NV), cross_entropy_kernel<X>, logits_NV.dim(1), logits_NV.device_data<X>(),
         targets_N.device_data<std::int32_t>(), loss_N.device_data<float>());
}

template <class X>
void to_gradient(Tensor& logits_NV, const Tensor& targets_N, double gradient_scale, Tensor& loss_N) {
  launch(grid_of_logits(logits_NV), cross_entropy_to_gradient_kernel<X>, logits_NV.dim(1), logits_NV.device_data<X>(),
         targets_N.device_data<std::int32_t>(), gradient_scale, loss_N.device_data<float>());
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
