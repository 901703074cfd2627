// Placement policy: x + norm(f(norm(x))), a norm before and after every sublayer (Ding et al. 2021).
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/ops/convert_node.h"
#include "model/parameter_factory.h"

namespace sink {

struct SandwichNorm {
  static constexpr const char* name = "SandwichNorm";
  static constexpr bool kFinalNorm = true;
  static constexpr bool kNormsStream = false;

  template <class Norm>
  class Residual {
   public:
    Residual(ParameterFactory& make, const std::string& prefix)
        : norm_(make, prefix + ".norm"), post_norm_(make, prefix + ".post_norm"), stream_(make.real()) {}

    template <class Sublayer>
    Var operator()(const Var& x_BTC, const Sublayer& sublayer, Var*) const {
      Var branch_BTC = post_norm_(convert(sublayer(norm_(x_BTC)), stream_));
      return add(x_BTC, branch_BTC);
    }

   private:
    Norm norm_;
    Norm post_norm_;
    DType stream_;  // of the residual stream: norms read no bf16
  };
};

}  // namespace sink
