// What an extra policy does where it says nothing: no token, no key, no value is added.
#pragma once

#include "autograd/ops/attention_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"
#include "model/residual.h"

namespace sink {

// The parts of an extra key that exist.
struct ExtraKeyVars {
  Var k_HD, logit_H, v_HD;
};

struct ExtraDefaults {
  static constexpr std::int64_t kTokens = 0;
  static constexpr bool kExtraKey = false;
  static constexpr bool kExtraKeyHasValue = false;

  ExtraKeyVars extra_key() const { return {}; }
  Var output(const Var& o_BHTD) const { return o_BHTD; }

  // Made once for a model.
  struct Tokens {
    explicit Tokens(ParameterFactory&) {}
    Var embed(const Var& x_BTC, const ForwardContext&) const { return x_BTC; }
    Residual drop(const Residual& x, const ForwardContext&) const { return x; }
  };
};

}  // namespace sink
