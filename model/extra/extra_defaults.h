// The defaults of extra policies, which add no token, key or value, and the policy that adds nothing.
#pragma once

#include "autograd/ops/attention_node.h"
#include "model/forward_context.h"
#include "model/parameter_factory.h"
#include "model/residual.h"

namespace sink {

// The parts of an extra key; undefined parts do not exist.
struct ExtraKeyVars {
  Var k_HD, logit_H, v_HD;
};

struct ExtraDefaults {
  static constexpr std::int64_t kTokens = 0;
  static constexpr bool kExtraKey = false;
  static constexpr bool kExtraKeyHasValue = false;

  ExtraKeyVars extra_key() const { return {}; }
  Var output(const Var& o_BHTD) const { return o_BHTD; }

  // One per model.
  struct Tokens {
    explicit Tokens(ParameterFactory&) {}
    Var embed(const Var& x_BTC, const ForwardContext&) const { return x_BTC; }
    Residual drop(const Residual& x, const ForwardContext&) const { return x; }
  };
};

struct NoExtra : ExtraDefaults {
  static std::string name() { return "NoExtra"; }

  NoExtra(ParameterFactory&, const std::string&) {}
};

}  // namespace sink
