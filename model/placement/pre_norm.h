// Placement policy: where the norm of a block stands.
//
// Requires: residual(x, norm, sublayer) -> the residual stream after the sublayer; kFinalNorm: whether the stream is
// normed once more before the unembedding.
#pragma once

#include "autograd/ops/add_node.h"

namespace sink {

// x + f(norm(x)), the study's default (Gu et al. 2025, section 2).
struct PreNorm {
  static constexpr const char* name = "PreNorm";
  static constexpr bool kFinalNorm = true;

  template <class Norm, class Sublayer>
  static Var residual(const Var& x_BTC, const Norm& norm, const Sublayer& sublayer) {
    Var branch_BTC = sublayer(norm(x_BTC));
    return add(x_BTC, branch_BTC);
  }
};

}  // namespace sink
