// Position policy: a learned vector a position, added to the token embedding (Gu et al. 2025, section 7.1).
#pragma once

#include "autograd/ops/add_node.h"
#include "model/parameter_factory.h"

namespace sink {

class Learned {
 public:
  static constexpr const char* name = "Learned";

  explicit Learned(ParameterFactory& make)
      : table_TC_(make.embedding("embedding.position.weight", make.sizes().context, make.sizes().width)) {}

  Var embed(const Var& x_BTC) const { return add_rows(x_BTC, table_TC_); }
  Var turn(const Var& x_BHTD) const { return x_BHTD; }

 private:
  const Parameter& table_TC_;
};

}  // namespace sink
