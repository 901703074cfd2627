// Position policy: rotary embedding of queries and keys, base 10000.
//
// A position policy requires: embed(x_BTC), what is added after the token embedding; turn(x_BHTD), what happens to
// queries and keys before they meet. Both leave alone what they do not concern.
#pragma once

#include "autograd/ops/rotary_node.h"
#include "model/parameter_factory.h"

namespace sink {

class Rotary {
 public:
  static constexpr const char* name = "Rotary";

  explicit Rotary(ParameterFactory& make)
      : table_(rotary_table(make.sizes().context, make.sizes().head_width(),
                            make.compute() == DType::F64 ? DType::F64 : DType::F32)) {}

  Var embed(const Var& x_BTC) const { return x_BTC; }
  Var turn(const Var& x_BHTD) const { return rotary(x_BHTD, table_); }

 private:
  RotaryTable table_;
};

}  // namespace sink
