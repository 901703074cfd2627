// Position policy: rotary embedding of queries and keys, base 10000, half-split (Gu et al. 2025, section 2).
//
// A position policy requires: embed(x_BTC), what is added after the token embedding; turn(x_BHTD), what happens to
// queries and keys before they meet; bias(), what is added to scores: numbers (H, T) by head and distance i - j, or an
// undefined Var. Each leaves alone what does not concern it: NoPosition is the base that does nothing.
#pragma once

#include "autograd/ops/rotary_node.h"
#include "model/position/no_position.h"

namespace sink {

class Rotary : public NoPosition {
 public:
  static constexpr const char* name = "Rotary";

  explicit Rotary(ParameterFactory& make)
      : NoPosition(make), table_(rotary_table(make.positions(), make.sizes().head_width(), make.real())) {}

  Var turn(const Var& x_BHTD) const { return rotary(x_BHTD, table_); }

 private:
  RotaryTable table_;
};

}  // namespace sink
