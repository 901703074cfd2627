// The decoder-only transformer of Gu et al. 2025 (section 2). With the policies of `baseline` (pre-norm):
//
//   x = W_E[tokens]                                     (B, T, C)
//   x = x + attention(norm(x)),  x = x + feed_forward(norm(x))      for each block
//   y = norm(x)                                         the final hidden states
//   logits = y W_U^T                                    (B, T, V; model/language_model.cpp)
//
// A Spec (model/spec.h) names the policies; model/ablations.h lists all Specs.
#pragma once

#include <span>

#include "autograd/ops/embedding_node.h"
#include "model/language_model.h"
#include "model/spec.h"
#include "model/transformer_block.h"

namespace sink {

template <SpecLike Spec>
class Transformer final : public LanguageModel {
 public:
  // Initial values are a function of (seed, parameter name), so all ablations start from the same values. Throws
  // Exit::usage if a policy does not support these sizes.
  Transformer(const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute, Device device = Device::cpu)
      : Transformer(ParameterFactory(checked(sizes), Spec::Extra::kTokens, scheme, seed, compute, device)) {}

 private:
  // tokens (B, T) -> embedding -> blocks -> final norm. With a sink token, the T of x_BTC is one larger until `drop`.
  Var forward(const Tensor& tokens_BT, const ForwardContext& ctx) const override {
    Var e_BTC = extra_tokens_.embed(embedding(tokens_BT, token_embedding_), ctx);
    ctx.hooks->embedding(e_BTC);
    return forward_from(0, position_.embed(e_BTC, ctx), ctx);
  }

  // The blocks from `first` on.
  Var forward_from(std::size_t first, Residual x_BTC, const ForwardContext& ctx) const override {
    for (const Block<Spec>& block : std::span(blocks_).subspan(first)) x_BTC = block(x_BTC, ctx);
    return final_norm_(extra_tokens_.drop(x_BTC, ctx));
  }

  Var final_norm(const Var& x_BTC) const override { return final_norm_(x_BTC); }

  // Parameters are created in this order, with one gradient bucket for each block.
  explicit Transformer(ParameterFactory make)
      : LanguageModel(make.sizes(), Spec::Extra::kTokens, make.compute(), make.device()),
        token_embedding_(make.embedding("embedding.token.weight", sizes_.vocabulary, sizes_.width, "V C")),
        extra_tokens_(make),
        position_(make),
        blocks_(make_blocks(make, position_)),
        final_norm_(make) {
    unembedding_ = &Spec::Unembedding::weight(make, token_embedding_);
    if constexpr (requires { Spec::Unembedding::kLogitCap; }) logit_cap_ = Spec::Unembedding::kLogitCap;
    reads_ahead_ = can_read_ahead<Spec>(sizes_, make.device());
    if (unembedding_ == &token_embedding_) tied_weights_ = sizes_.vocabulary * sizes_.width;
    parameters_ = make.take();
  }
  static std::vector<Block<Spec>> make_blocks(ParameterFactory& make, const typename Spec::Position& position) {
    std::vector<Block<Spec>> blocks;
    for (std::int64_t layer = 0; layer < make.sizes().layers; ++layer) {
      make.begin_bucket();
      blocks.emplace_back(make, layer, position);
    }
    make.begin_bucket();
    return blocks;
  }
  static const Sizes& checked(const Sizes& sizes) {
    check_sizes<Spec>(sizes);
    return sizes;
  }

  const Parameter& token_embedding_;
  typename Spec::Extra::Tokens extra_tokens_;
  typename Spec::Position position_;
  std::vector<Block<Spec>> blocks_;
  FinalNorm<Spec> final_norm_;
};

}  // namespace sink
