// Extra policy: none. The base of all that add keys, values or tokens of their own.
//
// Requires:
//   kTokens       learned tokens put before every sequence (embed does it)
//   kSlot         whether every query sees one key more, without position: slot() gives it
//   kSlotHasValue whether that key has a value that can differ from zero
//   slot()        its key or its logit, and its value
//   embed(x_BTC)  -> (B, kTokens + T, C)
//   output(o_BHTD), what happens to the heads' outputs before they join
// Policies of tokens stand once in a model, the others once in every block.
#pragma once

#include "autograd/ops/attention_node.h"
#include "model/parameter_factory.h"

namespace sink {

// The parts of a slot that exist.
struct SlotVars {
  Var k_HD, logit_H, v_HD;
};

class NoExtra {
 public:
  static constexpr std::int64_t kTokens = 0;
  static constexpr bool kSlot = false;
  static constexpr bool kSlotHasValue = false;
  static std::string name() { return ""; }

  NoExtra(ParameterFactory&, const std::string&) {}

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
