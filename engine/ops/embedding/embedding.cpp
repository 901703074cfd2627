#include "engine/ops/embedding/embedding.h"

#include "engine/implementation.h"
#include "engine/ops/embedding/embedding_cpu.h"
#include "engine/ops/embedding/embedding_cuda.h"
#include "engine/ops/embedding/embedding_ref.h"

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
