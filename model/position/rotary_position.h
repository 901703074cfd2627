// Position policy: rotary embedding of queries and keys, base 10000, half-split (Gu et al. 2025, section 2).
#pragma once

#include "autograd/ops/rotary_node.h"
#include "model/position/position_defaults.h"

namespace sink {

class Rotary : public PositionDefaults {
 public:
  static std::string name() { return "Rotary"; }
  static void check(const Sizes& sizes) {
    SINK_CHECK(sizes.head_width() % 2 == 0, "rotary",
               "rotary positions need an even width of a head (width / heads), got " +
                   std::to_string(sizes.head_width()) + " (" + std::to_string(sizes.width) + " / " +
                   std::to_string(sizes.heads) + ")",
               Exit::usage);
  }

  explicit Rotary(ParameterFactory& make)
      : table_(rotary_table(make.positions(), make.sizes().head_width(), make.real())) {}

  Var rotate(const Var& x_BHTD) const { return rotary(x_BHTD, table_); }

 private:
  RotaryTable table_;
};

}  // namespace sink
