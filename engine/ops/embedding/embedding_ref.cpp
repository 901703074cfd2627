// Reference: the embedding in double.
#include "engine/ops/embedding/embedding.h"

#include "engine/implementation.h"

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

// The operation itself: it checks its arguments and selects a backend.
namespace sink {
namespace {

void check_embedding(const Tensor& tokens_BT, const Tensor& w_VC, const Tensor& x_BTC) {
  SINK_CHECK(w_VC.rank() == 2 && x_BTC.size() == tokens_BT.size() * w_VC.dim(1) && x_BTC.dim(-1) == w_VC.dim(1) &&
                 x_BTC.dtype() == w_VC.dtype() && w_VC.dtype() == accumulate_type(w_VC.dtype()),
             "embedding", "tokens is " + tokens_BT.str() + ", table is " + w_VC.str() + ", x is " + x_BTC.str());
}

}  // namespace

void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC) {
  check_embedding(tokens_BT, w_VC, x_BTC);
  SINK_SELECT(w_VC, embedding)(tokens_BT, w_VC, x_BTC);
}

void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate) {
  check_embedding(tokens_BT, dw_VC, dx_BTC);
  SINK_SELECT(dw_VC, embedding_backward)(dx_BTC, tokens_BT, dw_VC, accumulate);
}

}  // namespace sink
