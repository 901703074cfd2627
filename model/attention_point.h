// AttentionPoint: the attention of one layer for hooks. Its functions compute on request.
#pragma once

#include <functional>

#include "autograd/var.h"
#include "engine/ops/attention/ref/attention_trace.h"

namespace sink {

// The tensors are on the device of the model, results of functions on the CPU. Positions include the extra tokens of
// the model, which come first.
struct AttentionPoint {
  std::int64_t layer;
  // The operands, after norms, rotation and feature maps.
  const Tensor& q_BHTD;
  const Tensor& k_BGTD;
  const Tensor& v_BGTD;
  // The outputs of the heads before they are joined. A hook may replace them.
  Var& o_BHTD;
  bool has_extra_key;        // every query sees one more key, which has no position
  const Tensor& extra_v_HD;  // its value; undefined: zero
  bool divides_by_sum;       // weights of a row are divided by a sum over its keys, or sum to one by a threshold

  virtual ~AttentionPoint() = default;
  // Column sums of the first `columns` keys, row sums, entropy and the split of q . k, by a streaming pass.
  virtual AttentionStatistics statistics(std::int64_t columns) const = 0;
  // The same if all products q . k were zero: what biases, mask and extra key do alone. Of the first sequence, whose
  // rows see what those of the others do, or of all where sequences have documents.
  virtual AttentionStatistics statistics_without_products(std::int64_t /*columns*/) const { return {}; }
  // Whether a_ij / a_ik = e^(s_ij - s_ik) in every row.
  virtual bool has_exponential_weights() const { return false; }
  // What every key receives, by a streaming pass on the CPU, in memory that is linear in the length of the text.
  virtual AttentionKeySums key_sums() const = 0;
  // The attention pattern of one sequence and head, with the weights as they act: F64 (T, E+T), E = 1 with an extra
  // key, whose column is the first.
  virtual Tensor pattern(std::int64_t b, std::int64_t h) const = 0;
  // The outputs of attention with other keys and values; an undefined extra value is zero. A hook can remove a key, or
  // read weights: values that are one at key j and zero elsewhere return the weights of key j.
  virtual Tensor mix(const Tensor& k_BGTD, const Tensor& v_BGTD, const Tensor& extra_v_HD) const = 0;
  // (do_BHTD, b, h, i): query i of one sequence and head with all intermediate values, and those of the backward pass
  // if do_BHTD is defined. The function stays valid after the forward pass.
  using Trace = std::function<AttentionTrace(const Tensor& do_BHTD, std::int64_t b, std::int64_t h, std::int64_t i)>;
  virtual Trace trace() const = 0;

 protected:
  AttentionPoint(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v, Var& o, bool has_extra_key,
                 const Tensor& extra_v, bool divides_by_sum)
      : layer(layer),
        q_BHTD(q),
        k_BGTD(k),
        v_BGTD(v),
        o_BHTD(o),
        has_extra_key(has_extra_key),
        extra_v_HD(extra_v),
        divides_by_sum(divides_by_sum) {}
};

}  // namespace sink
