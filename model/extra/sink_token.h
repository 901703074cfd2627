// Extra policy: one learned token before every sequence, as StreamingLLM trains it (Xiao et al. 2023; Gu et al. 2025,
// Table 4). It has position 0 and passes through all blocks; nothing is predicted from it.
#pragma once

#include "autograd/ops/prepend_node.h"
#include "model/extra/extra_defaults.h"

namespace sink {

class SinkToken : public ExtraDefaults {
 public:
  static constexpr std::int64_t kTokens = 1;
  static std::string name() { return "SinkToken"; }

  SinkToken(ParameterFactory&, const std::string&) {}

  class Tokens {
   public:
    explicit Tokens(ParameterFactory& make)
        : row_1C_(make.embedding("embedding.sink_token.weight", 1, make.sizes().width, "1 C")) {}
    // A key-value cache that is not empty already has the keys and values of the token.
    Var embed(const Var& x_BTC, const ForwardContext& ctx) const {
      return ctx.first_position() == 0 ? prepend(x_BTC, row_1C_) : x_BTC;
    }
    Residual drop(const Residual& x, const ForwardContext& ctx) const {
      if (ctx.first_position() > 0) return x;
      return drop_first(x);
    }

   private:
    const Parameter& row_1C_;
  };
};

}  // namespace sink
