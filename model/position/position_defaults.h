// What a position policy does where it says nothing: neither the embedding, nor queries and keys, nor scores change.
#pragma once

#include "model/forward_context.h"
#include "model/parameter_factory.h"

namespace sink {

struct PositionDefaults {
  Var embed(const Var& x_BTC, const ForwardContext&) const { return x_BTC; }
  Var rotate(const Var& x_BHTD, const ForwardContext&) const { return x_BHTD; }
  Var bias() const { return {}; }
};

}  // namespace sink
