// Cross-entropy of the logits x W^T where W, the unembedding, is read in place (engine/stored/stored_matrix.h):
// loss_n = log sum_v exp(x_n . w_v) - x_n . w_{target(n)} in nats. With a cap, logits are cap tanh(x . w / cap).
//
// The logits of all rows are the largest tensor of a model with a large vocabulary, so they never are: for a tile of
// words at a time each row keeps its largest logit m, the sum S of exp(logit - m) and the logit of its target, and
// loss = m + log S - logit. So W is decoded once, too, however many rows there are. Not for training.
#pragma once

#include "engine/ops/backends.h"
#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"

namespace sink {

// x: (N, C); W: (V, C); targets: I32 (N) in [-1, V), -1 = ignored, loss 0; loss: (N), F32 (F64 for x of F64). Sums and
// logits are F32 for BF16, too. cap: 0 for none.
void stored_cross_entropy(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, double cap,
                          Tensor& loss_N);

SINK_BACKENDS(stored_cross_entropy)

}  // namespace sink
