// Edit: what an experiment changes inside a forward pass, without the model knowing why. Training passes none.
#pragma once

#include <functional>

#include "engine/tensor.h"

namespace sink {

// One layer's attention, as an Edit sees it.
struct AttentionOutput {
  std::int64_t layer;
  const Tensor& v_BGTD;
  const Tensor& o_BHTD;
  bool extra_key;  // there is one more, before the others
  // What attention would give with the same weights and other values; undefined: zero. By it an Edit can take a key's
  // share out of o, or read weights: values that are one at key j and zero elsewhere give the weights of key j.
  std::function<Tensor(const Tensor& v_BGTD, const Tensor& extra_v_HD)> mix;
};

struct Edit {
  virtual ~Edit() = default;
  // What attention or feed-forward of a layer reads instead of h_BTC.
  virtual Tensor sublayer_input(const Tensor& h_BTC) { return h_BTC; }
  // What goes on to the join of the heads instead of o_BHTD.
  virtual Tensor attention_output(const AttentionOutput& attention) { return attention.o_BHTD; }
};

}  // namespace sink
