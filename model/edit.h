// Edit: what an experiment changes inside a forward pass, without the model knowing why. Training passes none.
#pragma once

#include <functional>

#include "engine/tensor.h"

namespace sink {

// One layer's attention, as an Edit sees it.
struct AttentionOutput {
  std::int64_t layer;
  const Tensor& k_BGTD;
  const Tensor& v_BGTD;
  const Tensor& o_BHTD;
  bool extra_key;            // there is one more, before the others
  const Tensor& extra_v_HD;  // its value; undefined: zero
  bool divides_by_sum;       // weights of a row are divided by a sum over its keys
  // What attention would give with other keys and values; an undefined extra value is zero. By it an Edit can take a
  // key's share out of o, or read weights: values that are one at key j and zero elsewhere give the weights of key j.
  std::function<Tensor(const Tensor& k_BGTD, const Tensor& v_BGTD, const Tensor& extra_v_HD)> mix;
};

struct Edit {
  virtual ~Edit() = default;
  // What attention or feed-forward of a layer reads instead of h_BTC.
  virtual Tensor sublayer_input(const Tensor& h_BTC) { return h_BTC; }
  // What the last product of attention or feed-forward reads instead of y_BTF.
  virtual Tensor inner_input(const Tensor& y_BTF) { return y_BTF; }
  // What goes on as the residual stream behind block `layer`, from 0, instead of x_BTC.
  virtual Tensor residual(std::int64_t, const Tensor& x_BTC) { return x_BTC; }
  // What goes on to the join of the heads instead of o_BHTD.
  virtual Tensor attention_output(const AttentionOutput& attention) { return attention.o_BHTD; }
};

}  // namespace sink
