// The decoder-only transformer of the study, its mathematics given by one Spec.
#pragma once

#include <optional>

#include "autograd/ops/convert_node.h"
#include "autograd/ops/embedding_node.h"
#include "autograd/ops/linear_cross_entropy_node.h"
#include "autograd/ops/recompute_node.h"
#include "model/language_model.h"
#include "model/layer/attention_layer.h"
#include "model/layer/sublayer.h"
#include "model/residual.h"
#include "model/spec.h"

namespace sink {

// One block: x to the residual stream after it. What happens between its parts is Spec::Placement::block.
template <SpecLike Spec>
struct Block {
  using Norms = typename Spec::Placement::template Norms<typename Spec::Norm>;

  Sublayer<Norms, AttentionLayer<Spec>> attention;
  Sublayer<Norms, typename Spec::FeedForward> feed_forward;

  // Keeps a reference to `position`.
  Block(ParameterFactory& make, const std::string& prefix, const typename Spec::Position& position)
      : attention(make, prefix + ".attention", position),
        feed_forward(make, prefix + ".feed_forward", Spec::LinearBias::kFeedForward) {}

  Residual operator()(const Residual& x, const Pass& pass) const {
    return Spec::Placement::block(x, attention, feed_forward, pass);
  }
};

template <SpecLike Spec>
class Transformer final : public LanguageModel {
 public:
  // Initial values are a function of (seed, parameter name): every ablation starts from the same numbers. Throws
  // Exit::usage where a policy cannot have these sizes.
  Transformer(const Sizes& sizes, InitScheme scheme, std::uint64_t seed, DType compute, Device device = Device::cpu)
      : Transformer(ParameterFactory(checked(sizes), Spec::Extra::kTokens, scheme, seed, compute, device)) {}

  Var loss(const Batch& batch, double scale, const Pass& pass) override {
    SINK_CHECK(batch.vocabulary() <= sizes_.vocabulary, "transformer",
               "the batch has " + std::to_string(batch.vocabulary()) + " kinds of tokens, the model " +
                   std::to_string(sizes_.vocabulary),
               Exit::bad_input);
    Tensor targets_BT = batch.targets_BT().to(parameters_.device());
    Pass with_documents = pass;
    with_documents.documents = batch.documents();
    Var x_BTC = final_hidden(batch.tokens_BT(), with_documents);
    Tensor losses;
    Var loss =
        linear_cross_entropy(x_BTC, unembedding_, targets_BT, batch.predicted(), scale, pass.probe ? &losses : nullptr);
    leave(sizes_.layers + 1);
    leave(0);
    if (pass.probe) pass.probe->losses(losses.reshape(targets_BT.shape()));
    return loss;
  }

  Tensor logits(const Tensor& tokens_BT, const Pass& pass) override {
    check_tokens(tokens_BT, sizes_.vocabulary);
    return linear(final_hidden(tokens_BT, pass), unembedding_).value();
  }

  Tensor next_logits(const Tensor& tokens_BT, const Pass& pass) override {
    check_tokens(tokens_BT, sizes_.vocabulary);
    const Tensor x_BTC = final_hidden(tokens_BT, pass).value();
    const std::int64_t B = x_BTC.dim(0), T = x_BTC.dim(1), C = x_BTC.dim(2);
    Tensor last_BC = x_BTC.new_empty({B, C}, x_BTC.dtype());
    for (std::int64_t b = 0; b < B; ++b) last_BC.rows(b, b + 1).copy_from(x_BTC.slice((b * T + T - 1) * C, {1, C}));
    return linear(Var(last_BC), unembedding_).value();
  }

 private:
  explicit Transformer(ParameterFactory make)
      : LanguageModel(make.sizes(), Spec::Extra::kTokens, make.compute(), make.device()),
        token_embedding_(make.embedding("embedding.token.weight", sizes_.vocabulary, sizes_.width, "V C")),
        extra_tokens_(make),
        position_(make),
        blocks_(make_blocks(make, position_)),
        final_norm_(make_final_norm(make)),
        unembedding_(Spec::Unembedding::weight(make, token_embedding_)),
        compute_(make.compute()) {
    if (&unembedding_ == &token_embedding_) tied_weights_ = sizes_.vocabulary * sizes_.width;
    parameters_ = make.take();
  }

  // The residual stream after the last block, normed for the unembedding: (B, T, C).
  Var final_hidden(const Tensor& tokens_BT, Pass pass) const {
    const std::int64_t before = pass.cache ? pass.cache->length() : 0, T = tokens_BT.dim(1);
    const std::int64_t room = sizes_.context + (before > 0 ? Spec::Extra::kTokens : 0);
    SINK_CHECK(before + T <= room, "transformer",
               "expected tokens (B, T) with T at most the context " + std::to_string(sizes_.context) + ", got " +
                   tokens_BT.str() + (before > 0 ? " behind " + std::to_string(before) + " that were read" : ""),
               Exit::bad_input);
    Tensor tokens_on_device_BT = tokens_BT.to(parameters_.device());
    pass.documents = pass.documents.to(parameters_.device());
    const Tensor& positions_BT = pass.documents.positions_BT;
    SINK_CHECK(!positions_BT.defined() || Spec::Extra::kTokens == 0, "transformer",
               "positions cannot begin anew at every document (--reset-positions) where the model puts a token of its "
               "own before all of them, from which each has another distance",
               Exit::usage);
    enter(0);
    Var embedded = embedding(tokens_on_device_BT, token_embedding_);
    if (before == 0) embedded = extra_tokens_.embed(embedded);
    const std::int64_t rows = embedded.value().dim(1);
    if (pass.cache) follow(pass, tokens_BT.dim(0), rows);
    Residual x = position_.embed(embedded, pass);
    if (pass.probe) pass.probe->hidden(0, x.sum().value());
    for (const Block<Spec>& block : blocks_) {
      enter(pass.layer + 1);
      if (pass.recompute)
        x = recompute(x, [&block, pass](const Var& in_BTC) -> Var { return block(in_BTC, pass); });
      else
        x = block(x, pass);
      if (pass.edit) x = Var(pass.edit->residual(pass.layer, x.sum().value()));
      ++pass.layer;
      leave(pass.layer);
      if (pass.probe) pass.probe->hidden(pass.layer, x.sum().value());
    }
    if (pass.cache) pass.cache->advance(rows);
    if (before == 0) x = extra_tokens_.drop(x);
    enter(sizes_.layers + 1);
    return final_norm_ ? x.normed(*final_norm_).y : convert(x, compute_);
  }

  // Positions of tokens that follow those of a cache.
  void follow(Pass& pass, std::int64_t B, std::int64_t T) const {
    SINK_CHECK(!pass.documents.defined() && !pass.documents.positions_BT.defined(), "transformer",
               "sequences that are read part by part are one document each");
    SINK_CHECK(pass.cache->length() + T >= sizes_.prefix, "transformer",
               "the first " + std::to_string(sizes_.prefix) +
                   " tokens (prefix) see each other, and must be read at "
                   "once; got " +
                   std::to_string(T),
               Exit::usage);
    pass.documents.positions_BT = pass.cache->positions_of_next(B, T).to(parameters_.device());
  }

  static const Sizes& checked(const Sizes& sizes) {
    check_sizes<Spec>(sizes);
    return sizes;
  }
  static std::vector<Block<Spec>> make_blocks(ParameterFactory& make, const typename Spec::Position& position) {
    std::vector<Block<Spec>> blocks;
    for (std::int64_t layer = 0; layer < make.sizes().layers; ++layer) {
      make.begin_section();
      blocks.emplace_back(make, "blocks." + std::to_string(layer), position);
    }
    make.begin_section();
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
