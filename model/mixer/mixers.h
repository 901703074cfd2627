// Mixer policies: what mixes the tokens of a block, the layer called attention in names of parameters.
#pragma once

#include <optional>

#include "model/layer/delta_net_layer.h"

namespace sink {

// Attention in all blocks.
struct AttentionMixer {
  static std::string name() { return "Attention"; }
  static void check(const Sizes& sizes) {
    SINK_CHECK(sizes.attention_every <= 1, "mixer",
               "--attention-every is for models with layers of another kind: leave it out", Exit::usage);
  }

  template <class Attention>
  struct Layer : Attention {
    Layer(ParameterFactory& make, const std::string& prefix, const auto& position, std::int64_t /*layer*/)
        : Attention(make, prefix, position) {}
  };
};

// Attention in every n-th block, n = attention_every, and a gated delta rule in the others (Qwen3-Next 2025).
struct DeltaNetMixer {
  static std::string name() { return "DeltaNet"; }
  static void check(const Sizes& sizes) {
    SINK_CHECK(sizes.attention_every <= 1 || sizes.prefix == 0, "mixer",
               "a gated delta rule reads tokens in their order, without a prefix that all see: leave out --prefix",
               Exit::usage);
  }

  template <class Attention>
  class Layer {
   public:
    Layer(ParameterFactory& make, const std::string& prefix, const auto& position, std::int64_t layer) {
      if (make.sizes().has_attention(layer))
        attention_.emplace(make, prefix, position);
      else
        delta_net_.emplace(make, prefix);
    }
    Var operator()(const Var& h_BTC, const ForwardContext& ctx) const {
      return attention_ ? (*attention_)(h_BTC, ctx) : (*delta_net_)(h_BTC, ctx);
    }

   private:
    std::optional<Attention> attention_;
    std::optional<DeltaNetLayer> delta_net_;
  };
};

}  // namespace sink
