// Unembedding policies: the matrix W_U (V, C) of logits = x W_U^T.
#pragma once

#include "model/parameter_factory.h"

namespace sink {

struct OwnUnembedding {
  static std::string name() { return "OwnUnembedding"; }
  static const Parameter& weight(ParameterFactory& make, const Parameter&) {
    return make.linear("unembedding.weight", make.sizes().vocabulary, make.sizes().width, "V C");
  }
};

// Logits are soft-capped, kLogitCap tanh(x W_U^T / kLogitCap), as in Gemma 2.
struct SoftCappedUnembedding : OwnUnembedding {
  static std::string name() { return "SoftCapped(30)"; }
  static constexpr double kLogitCap = 30;
};

// The token embedding itself (Press and Wolf 2017): one parameter with the summed gradient of both uses.
struct TiedUnembedding {
  static std::string name() { return "Tied"; }
  static const Parameter& weight(ParameterFactory&, const Parameter& token_embedding_VC) { return token_embedding_VC; }
};

}  // namespace sink
