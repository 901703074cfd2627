// Query-key norm policies: whether queries and keys are normed before any rotation, which bounds scores (Henry et al.
// 2020).
#pragma once

#include "autograd/ops/convert_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/norm_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

struct NoQueryKeyNorm {
  static std::string name() { return "NoQueryKeyNorm"; }
  NoQueryKeyNorm(ParameterFactory&, const std::string&) {}
  Var query(const Var& q_BHTD, const ForwardContext&) const { return q_BHTD; }
  Var key(const Var& k_BGTD) const { return k_BGTD; }
};

// RMS norm over the D elements of a head; one gain for the queries of all heads and one for the keys.
class RmsQueryKeyNorm {
 public:
  static std::string name() { return "RmsNorm"; }

  RmsQueryKeyNorm(ParameterFactory& make, const std::string& prefix)
      : query_gain_(make.gain(prefix + ".query_norm.gain", make.sizes().width_of_head(), "D")),
        key_gain_(make.gain(prefix + ".key_norm.gain", make.sizes().width_of_head(), "D")),
        compute_(make.compute()),
        real_(make.real()),
        epsilon_(make.sizes().epsilon()) {}

  Var query(const Var& q_BHTD, const ForwardContext&) const {
    return rms_norm(convert(q_BHTD, real_), query_gain_, compute_, epsilon_);
  }
  Var key(const Var& k_BGTD) const { return rms_norm(convert(k_BGTD, real_), key_gain_, compute_, epsilon_); }

 private:
  const Parameter& query_gain_;
  const Parameter& key_gain_;
  DType compute_, real_;
  double epsilon_;
};

// RMS norm over the elements of all heads of a token, with a gain for each (OLMo et al. 2024).
class RmsNormOfAllHeads {
 public:
  static std::string name() { return "RmsNormOfAllHeads"; }

  RmsNormOfAllHeads(ParameterFactory& make, const std::string& prefix)
      : query_gain_(make.gain(prefix + ".query_norm.gain", make.sizes().heads * make.sizes().width_of_head(), "E")),
        key_gain_(make.gain(prefix + ".key_norm.gain", make.sizes().key_heads() * make.sizes().width_of_head(), "E")),
        compute_(make.compute()),
        real_(make.real()),
        epsilon_(make.sizes().epsilon()) {}

  Var query(const Var& q_BHTD, const ForwardContext&) const { return normed(q_BHTD, query_gain_); }
  Var key(const Var& k_BGTD) const { return normed(k_BGTD, key_gain_); }

 private:
  Var normed(const Var& x_BHTD, const Parameter& gain_E) const {
    Var x_BTE = rms_norm(convert(merge_heads(x_BHTD), real_), gain_E, compute_, epsilon_);
    return unmerge_heads(x_BTE, x_BHTD.value().dim(1));
  }

  const Parameter& query_gain_;
  const Parameter& key_gain_;
  DType compute_, real_;
  double epsilon_;
};

}  // namespace sink
