// Looks up one row of a table per token: x_btc = w_{token(b,t), c}. Backward adds dx_btc to dw_{token(b,t), c}, tokens
// in order, so the same bits come out every time (the CUDA device adds up to 32 places of a token first).
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

// tokens: I32 (B, T) with values in [0, V), checked when a batch is made (engine/data/batch.h); x: (B, T, C) of the
// table's type, F32 or F64.
void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC);
void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate);

SINK_BACKENDS(embedding)
SINK_BACKENDS(embedding_backward)

}  // namespace sink
