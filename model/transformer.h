// The decoder-only transformer of the study, its mathematics given by one Spec.
#pragma once

#include <optional>

#include "autograd/ops/convert_node.h"
#include "autograd/ops/embedding_node.h"
#include "autograd/ops/linear_cross_entropy_node.h"
#include "model/language_model.h"
#include "model/layer/attention_layer.h"
#include "model/spec.h"

namespace sink {

template <SpecLike Spec>
class Block {
 public:
  using Residual = typename Spec::Placement::template Residual<typename Spec::Norm>;

  Block(ParameterFactory& make, std::int64_t layer)
      : layer_(layer),
        attention_residual_(make, prefix(layer) + ".attention"),
        attention_(make, prefix(layer) + ".attention", layer),
        feed_forward_residual_(make, prefix(layer) + ".feed_forward"),
        feed_forward_(make, prefix(layer) + ".feed_forward") {}

  Var operator()(const Var& x_BTC, const typename Spec::Position& position, Probe* probe) const {
    auto attention = [&](const Var& h_BTC) { return attention_(h_BTC, position, probe); };
    Var before_norm_BTC;
    Var u_BTC = attention_residual_(x_BTC, attention, nullptr);
    Var y_BTC = feed_forward_residual_(u_BTC, feed_forward_, &before_norm_BTC);
    if (probe) {
      if (Spec::Placement::kNormsStream) probe->hidden_before_norm(layer_ + 1, before_norm_BTC.value());
      probe->hidden(layer_ + 1, y_BTC.value());
    }
    return y_BTC;
  }

 private:
  static std::string prefix(std::int64_t layer) { return "blocks." + std::to_string(layer); }

  std::int64_t layer_;
  Residual attention_residual_;
  AttentionLayer<Spec> attention_;
  Residual feed_forward_residual_;
  typename Spec::FeedForward feed_forward_;
};

template <SpecLike Spec>
class Transformer final : public LanguageModel {
 public:
  // Initial values are a function of (seed, parameter name): every ablation starts from the same numbers.
  Transformer(const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute)
      : Transformer(ParameterFactory(sizes, Spec::Extra::kTokens, scheme, seed, compute)) {}

  Var loss(const Tensor& tokens_BT, const Tensor& targets_BT, double scale, Probe* probe) override {
    return linear_cross_entropy(final_hidden(tokens_BT, probe), unembedding_, targets_BT, scale);
  }

  Tensor logits(const Tensor& tokens_BT, Probe* probe) override {
    return linear(final_hidden(tokens_BT, probe), unembedding_).value();
  }

 private:
  explicit Transformer(ParameterFactory make)
      : LanguageModel(make.sizes(), Spec::Extra::kTokens, make.compute()),
        token_embedding_(make.embedding("embedding.token.weight", sizes_.vocabulary, sizes_.width, "V C")),
        extra_tokens_(make),
        position_(make),
        blocks_(make_blocks(make)),
        final_norm_(make_final_norm(make)),
        unembedding_(make.linear("unembedding.weight", sizes_.vocabulary, sizes_.width, "V C")),
        compute_(make.compute()) {
    parameters_ = make.take();
  }

  // The residual stream after the last block, normed for the unembedding: (B, T, C).
  Var final_hidden(const Tensor& tokens_BT, Probe* probe) const {
    SINK_CHECK(tokens_BT.rank() == 2 && tokens_BT.dim(1) <= sizes_.context, "transformer",
               "expected tokens (B, T) with T at most the context " + std::to_string(sizes_.context) + ", got " +
                   tokens_BT.str(),
               Exit::bad_input);
    Var x_BTC = position_.embed(extra_tokens_.embed(embedding(tokens_BT, token_embedding_)));
    if (probe) probe->hidden(0, x_BTC.value());
    for (const Block<Spec>& block : blocks_) x_BTC = block(x_BTC, position_, probe);
    x_BTC = extra_tokens_.drop(x_BTC);
    return final_norm_ ? (*final_norm_)(x_BTC) : convert(x_BTC, compute_);
  }

  static std::vector<Block<Spec>> make_blocks(ParameterFactory& make) {
    std::vector<Block<Spec>> blocks;
    for (std::int64_t layer = 0; layer < make.sizes().layers; ++layer) blocks.emplace_back(make, layer);
    return blocks;
  }
  static std::optional<typename Spec::Norm> make_final_norm(ParameterFactory& make) {
    if constexpr (Spec::Placement::kFinalNorm)
      return typename Spec::Norm(make, "final_norm");
    else
      return std::nullopt;
  }

  const Parameter& token_embedding_;
  typename Spec::Extra::Tokens extra_tokens_;
  typename Spec::Position position_;
  std::vector<Block<Spec>> blocks_;
  std::optional<typename Spec::Norm> final_norm_;
  const Parameter& unembedding_;
  DType compute_;
};

}  // namespace sink
