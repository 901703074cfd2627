// Probe: what an evaluation sees of a forward pass, without the model knowing why it looks. Training passes none.
#pragma once

#include <functional>

#include "engine/ops/attention/attention_trace.h"

namespace sink {

// One layer's attention, tensors on the model's device and what is asked for on the CPU: the vectors that meet (after
// rotation, norms and feature maps), and ways to ask more of it. T counts the model's own extra tokens, which come
// first.
struct AttentionView {
  std::int64_t layer;
  const Tensor& q_BHTD;
  const Tensor& k_BGTD;
  const Tensor& v_BGTD;
  bool extra_key;  // every query sees one key more, which has no position
  // Column sums, row mass, entropy and the split of q . k by a streaming pass; the first `columns` keys.
  std::function<AttentionStatistics(std::int64_t columns)> statistics;
  // All weights of one sequence and head, as they act: F64 (T, E+T), E = 1 with an extra key, whose column is the
  // first.
  std::function<Tensor(std::int64_t b, std::int64_t h)> map;
  // Query i of one sequence and head with every number on the way; backward too where do_BHTD is defined. Unlike the
  // rest of the view it may be kept.
  std::function<AttentionTrace(const Tensor& do_BHTD, std::int64_t b, std::int64_t h, std::int64_t i)> trace;
};

struct Probe {
  virtual ~Probe() = default;
  // The residual stream: layer 0 is the embedding, layer l the output of block l (before the final norm).
  virtual void hidden(std::int64_t layer, const Tensor& x_BTC) = 0;
  // Post-norm only, before hidden(layer): the sum FFN(U) + U that block `layer` (1 ... L) norms.
  virtual void hidden_before_norm(std::int64_t, const Tensor&) {}
  virtual void attention(const AttentionView& view) = 0;
  // Of a loss: that of every target, nats, 0 where there is none.
  virtual void losses(const Tensor&) {}
};

}  // namespace sink
