// What an extra policy does where it says nothing: no token, no key, no value is added.
#pragma once

#include "autograd/ops/attention_node.h"
#include "model/parameter_factory.h"

namespace sink {

// The parts of a slot that exist.
struct SlotVars {
  Var k_HD, logit_H, v_HD;
};

struct ExtraDefaults {
  static constexpr std::int64_t kTokens = 0;
  static constexpr bool kSlot = false;
  static constexpr bool kSlotHasValue = false;

  SlotVars slot() const { return {}; }
  Var output(const Var& o_BHTD) const { return o_BHTD; }

  // What stands once in a model.
  struct Tokens {
    explicit Tokens(ParameterFactory&) {}
    Var embed(const Var& x_BTC) const { return x_BTC; }
    Var drop(const Var& x_BTC) const { return x_BTC; }
  };
};

}  // namespace sink
