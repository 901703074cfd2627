// Position policy: a learned vector per position, added to the token embedding (Gu et al. 2025, section 7.1).
#pragma once

#include "autograd/ops/add_node.h"
#include "autograd/ops/embedding_node.h"
#include "model/position/position_defaults.h"

namespace sink {

class Learned : public PositionDefaults {
 public:
  static std::string name() { return "Learned"; }

  explicit Learned(ParameterFactory& make)
      : table_TC_(make.embedding("embedding.position.weight", make.positions(), make.sizes().width, "T C")) {}

  Var embed(const Var& x_BTC, const ForwardContext& ctx) const {
    const Tensor& positions_BT = ctx.documents.positions_BT;
    if (positions_BT.defined()) return add(x_BTC, embedding(positions_BT, table_TC_));
    return add_rows(x_BTC, table_TC_.var());
  }

 private:
  const Parameter& table_TC_;
};

}  // namespace sink
