// What a position policy does where it says nothing: neither the embedding, nor queries and keys, nor scores change.
#pragma once

#include "model/parameter_factory.h"
#include "model/pass.h"

namespace sink {

struct PositionDefaults {
  Var embed(const Var& x_BTC, const Pass&) const { return x_BTC; }
  Var rotate(const Var& x_BHTD, const Pass&) const { return x_BHTD; }
  Var bias() const { return {}; }
};

}  // namespace sink
