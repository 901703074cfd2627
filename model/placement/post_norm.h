// Placement policy: norm(x + f(x)), as the first transformers had it (Gu et al. 2025, section 7.2).
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/ops/convert_node.h"
#include "model/parameter_factory.h"

namespace sink {

struct PostNorm {
  static constexpr const char* name = "PostNorm";
  static constexpr bool kFinalNorm = false;
  static constexpr bool kNormsStream = true;

  template <class Norm>
  class Residual {
   public:
    Residual(ParameterFactory& make, const std::string& prefix)
        : norm_(make, prefix + ".norm"), compute_(make.compute()), stream_(make.real()) {}

    // Massive activations live in the sum, not in what the norm makes of it: hence stream_before_norm.
    template <class Sublayer>
    Var operator()(const Var& x_BTC, const Sublayer& sublayer, Var* stream_before_norm) const {
      Var sum_BTC = add(x_BTC, sublayer(convert(x_BTC, compute_)));
      if (stream_before_norm) *stream_before_norm = sum_BTC;
      return norm_(sum_BTC, stream_);
    }

   private:
    Norm norm_;
    DType compute_;  // of products
    DType stream_;   // of the residual stream
  };
};

}  // namespace sink
