// CPU backend: the embedding in F32.
#include "engine/ops/embedding/embedding.h"

#include "engine/threads.h"

namespace sink::cpu {

void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC) {
  const std::int32_t* tokens_N = tokens_BT.data<std::int32_t>();
  const float* w = w_VC.data<float>();
  float* x_NC = x_BTC.data<float>();
  std::int64_t C = w_VC.dim(1);
  parallel_chunks(tokens_BT.size(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n)
      for (std::int64_t c = 0; c < C; ++c) x_NC[n * C + c] = w[tokens_N[n] * C + c];
  });
}

// A range of columns belongs to one thread, so two tokens never race.
void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate) {
  const std::int32_t* tokens_N = tokens_BT.data<std::int32_t>();
  const float* dx_NC = dx_BTC.data<float>();
  if (!accumulate) dw_VC.fill(0);
  float* dw = dw_VC.data<float>();
  std::int64_t N = tokens_BT.size(), C = dw_VC.dim(1);
  parallel_chunks(C, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = 0; n < N; ++n)
      for (std::int64_t c = begin; c < end; ++c) dw[tokens_N[n] * C + c] += dx_NC[n * C + c];
  });
}

}  // namespace sink::cpu
