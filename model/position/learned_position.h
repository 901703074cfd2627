// Position policy: a learned vector a position, added to the token embedding (Gu et al. 2025, section 7.1).
#pragma once

#include "autograd/ops/add_node.h"
#include "model/position/no_position.h"

namespace sink {

class Learned : public NoPosition {
 public:
  static constexpr const char* name = "Learned";

  explicit Learned(ParameterFactory& make)
      : NoPosition(make),
        table_TC_(make.embedding("embedding.position.weight", make.positions(), make.sizes().width, "T C")) {}

  Var embed(const Var& x_BTC) const { return add_rows(x_BTC, table_TC_.var()); }

 private:
  const Parameter& table_TC_;
};

}  // namespace sink
