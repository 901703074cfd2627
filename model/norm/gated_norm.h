// Norm policy: the RMS norm times a gate that is computed from it (GatedNorm, arXiv 2601.22966), which scales tokens and
// elements without an outlier in the residual stream.
#pragma once

#include "autograd/ops/activation_node.h"
#include "autograd/ops/convert_node.h"
#include "autograd/ops/gate_node.h"
#include "autograd/ops/linear_node.h"
#include "model/norm/norms.h"

namespace sink {

// n sigmoid(W_up silu(W_down n)) with n = RMSNorm(x) and matrices of rank 16.
class GatedRmsNorm {
 public:
  static std::string name() { return "GatedRmsNorm"; }

  GatedRmsNorm(ParameterFactory& make, const std::string& prefix)
      : norm_(make, prefix),
        down_(make.linear(prefix + ".down.weight", kRank, make.sizes().width)),
        up_(make.linear(prefix + ".up.weight", make.sizes().width, kRank)),
        compute_(make.compute()) {}

  Var operator()(const Var& x) const { return gated(norm_(x)); }
  Var operator()(const Var& x, DType type) const { return gated(norm_(x, type)); }
  NormedSum of_sum(const Var& a, const Var& b) const { return of_sum(a, b, compute_); }
  NormedSum of_sum(const Var& a, const Var& b, DType type) const {
    const auto [sum, n] = norm_.of_sum(a, b, type);
    return {sum, gated(n)};
  }

 private:
  static constexpr std::int64_t kRank = 16;

  Var gated(const Var& n) const {
    const Var logits = linear(activate<SiluFunction>(linear(convert(n, compute_), down_)), up_);
    return gate(n, convert(logits, n.value().dtype()));
  }

  RmsNorm norm_;
  const Parameter &down_, &up_;
  DType compute_;
};

}  // namespace sink
