#include "engine/ops/embedding/embedding.h"

#include "engine/ops/embedding/embedding_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

void check(const Tensor& tokens_BT, const Tensor& w_VC, const Tensor& x_BTC) {
  SINK_CHECK(w_VC.rank() == 2 && x_BTC.size() == tokens_BT.size() * w_VC.dim(1) && x_BTC.dim(-1) == w_VC.dim(1) &&
                 x_BTC.dtype() == w_VC.dtype() && (w_VC.dtype() == DType::F32 || w_VC.dtype() == DType::F64),
             "embedding", "tokens is " + tokens_BT.str() + ", table is " + w_VC.str() + ", x is " + x_BTC.str());
  const std::int32_t* tokens = tokens_BT.data<std::int32_t>();
  for (std::int64_t n = 0; n < tokens_BT.size(); ++n)
    SINK_CHECK(0 <= tokens[n] && tokens[n] < w_VC.dim(0), "embedding",
               "token id " + std::to_string(tokens[n]) + " at place " + std::to_string(n) + " is not in [0, " +
                   std::to_string(w_VC.dim(0)) + "): was the text encoded with another tokenizer?",
               Exit::bad_input);
}

template <class F>
void with_master_type(const Tensor& w_VC, F&& f) {
  if (w_VC.dtype() == DType::F32)
    f(float{});
  else
    f(double{});
}

}  // namespace

void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC) {
  check(tokens_BT, w_VC, x_BTC);
  with_master_type(w_VC, [&](auto zero) {
    using R = decltype(zero);
    parallel_chunks(tokens_BT.size(), 64, [&](std::int64_t begin, std::int64_t end) {
      ref::embedding(tokens_BT.data<std::int32_t>(), w_VC.data<R>(), x_BTC.data<R>(), w_VC.dim(1), begin, end);
    });
  });
}

void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate) {
  check(tokens_BT, dw_VC, dx_BTC);
  if (!accumulate) dw_VC.fill(0);
  with_master_type(dw_VC, [&](auto zero) {
    using R = decltype(zero);
    parallel_chunks(dw_VC.dim(1), 16, [&](std::int64_t begin, std::int64_t end) {
      ref::embedding_backward(dx_BTC.data<R>(), tokens_BT.data<std::int32_t>(), dw_VC.data<R>(), tokens_BT.size(),
                              dw_VC.dim(1), begin, end);
    });
  });
}

}  // namespace sink
