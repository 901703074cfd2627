// Probe: what an evaluation sees of a forward pass, without the model knowing why it looks. Training passes none.
#pragma once

#include <functional>

#include "engine/ops/attention/attention.h"

namespace sink {

// One layer's attention: the vectors that meet (keys after any rotation), and ways to ask more of it.
struct AttentionView {
  std::int64_t layer;
  const Tensor& q_BHTD;
  const Tensor& k_BHTD;
  const Tensor& v_BHTD;
  // Column sums, row mass and entropy by a streaming pass; the first `columns` keys.
  std::function<AttentionStatistics(std::int64_t columns)> statistics;
  // The T x T map of one sequence and head, weights as they act.
  std::function<Tensor(std::int64_t b, std::int64_t h)> map;
};

struct Probe {
  virtual ~Probe() = default;
  // The residual stream: layer 0 is the embedding, layer l the output of block l (before the final norm).
  virtual void hidden(std::int64_t layer, const Tensor& x_BTC) = 0;
  virtual void attention(const AttentionView& view) = 0;
};

}  // namespace sink
