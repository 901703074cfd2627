#include "engine/ops/embedding/embedding_ref.h"

namespace sink::ref {

void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC) {
  const std::int32_t* tokens_N = tokens_BT.data<std::int32_t>();
  const double* w = w_VC.data<double>();
  double* x_NC = x_BTC.data<double>();
  std::int64_t C = w_VC.dim(1);
  for (std::int64_t n = 0; n < tokens_BT.size(); ++n)
    for (std::int64_t c = 0; c < C; ++c) x_NC[n * C + c] = w[tokens_N[n] * C + c];
}

// Forward was: x_nc = w_{token(n), c}.
void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate) {
  const std::int32_t* tokens_N = tokens_BT.data<std::int32_t>();
  const double* dx_NC = dx_BTC.data<double>();
  if (!accumulate) dw_VC.fill(0);
  double* dw = dw_VC.data<double>();
  std::int64_t C = dw_VC.dim(1);
  for (std::int64_t n = 0; n < tokens_BT.size(); ++n)
    for (std::int64_t c = 0; c < C; ++c) dw[tokens_N[n] * C + c] += dx_NC[n * C + c];
}

}  // namespace sink::ref
