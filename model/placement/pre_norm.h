// Placement policy: x + f(norm(x)), the study's default (Gu et al. 2025, section 2).
//
// A placement requires:
//   Residual<Norm>(make, prefix)                     one sublayer's norms
//   Residual(x_BTC, sublayer, stream_before_norm)    the residual stream after the sublayer; where the stream itself is
//                                                    normed, writes what it was before to *stream_before_norm
//   kFinalNorm           whether the stream is normed once more before the unembedding
//   kNormsStream         whether the stream itself is normed
#pragma once

#include "autograd/ops/add_node.h"
#include "model/parameter_factory.h"

namespace sink {

struct PreNorm {
  static constexpr const char* name = "PreNorm";
  static constexpr bool kFinalNorm = true;
  static constexpr bool kNormsStream = false;

  template <class Norm>
  class Residual {
   public:
    Residual(ParameterFactory& make, const std::string& prefix) : norm_(make, prefix + ".norm") {}

    template <class Sublayer>
    Var operator()(const Var& x_BTC, const Sublayer& sublayer, Var*) const {
      Var branch_BTC = sublayer(norm_(x_BTC));
      return add(x_BTC, branch_BTC);
    }

   private:
    Norm norm_;
  };
};

}  // namespace sink
