#include "model/language_model.h"

#include "autograd/ops/linear_cross_entropy_node.h"
#include "autograd/ops/linear_node.h"
#include "engine/ops/activation/activation.h"

namespace sink {
namespace {

// The rows of the last token of every sequence, (B, C).
Tensor last_rows(const Tensor& y_BTC) {
  const std::int64_t B = y_BTC.dim(0), T = y_BTC.dim(1), C = y_BTC.dim(2);
  Tensor last_BC = y_BTC.new_empty({B, C}, y_BTC.dtype());
  for (std::int64_t b = 0; b < B; ++b) last_BC.rows(b, b + 1).copy_from(y_BTC.slice((b * T + T - 1) * C, {1, C}));
  return last_BC;
}

// Sets the positions of the next T tokens in each of B sequences: those after the cache. Throws Error if the context
// has documents, or if a prefix, whose tokens see each other, would be read in parts.
void set_decode_positions(ForwardContext& ctx, std::int64_t B, std::int64_t T, const Sizes& sizes,
                          std::int64_t extra_tokens) {
  SINK_CHECK(!ctx.documents.defined() && !ctx.documents.positions_BT.defined(), "transformer",
             "sequences that are read part by part are one document each");
  SINK_CHECK(sizes.prefix == 0 || ctx.cache->length() + T >= sizes.prefix + extra_tokens, "transformer",
             "the first " + std::to_string(sizes.prefix) +
                 " tokens (prefix) see each other, and must be read at once; got " +
                 std::to_string(T - (ctx.cache->length() == 0 ? extra_tokens : 0)),
             Exit::usage);
  ctx.documents.positions_BT = ctx.cache->positions_of_next(B, T);
}

}  // namespace

Var LanguageModel::loss(const Batch& batch, double loss_scale, const ForwardContext& ctx, Tensor* losses_BT) const {
  SINK_CHECK(batch.vocabulary() <= sizes_.vocabulary, "transformer",
             "the batch has " + std::to_string(batch.vocabulary()) + " kinds of tokens, the model " +
                 std::to_string(sizes_.vocabulary),
             Exit::bad_input);
  const Tensor targets_BT = batch.targets_BT().to(parameters_.device());
  ForwardContext with_documents = ctx;
  with_documents.documents = batch.documents();
  Var y_BTC = checked_forward(batch.tokens_BT(), with_documents);
  Var loss =
      linear_cross_entropy(y_BTC, *unembedding_, targets_BT, batch.predicted(), loss_scale, losses_BT, logit_cap_);
  if (losses_BT) *losses_BT = losses_BT->reshape(targets_BT.shape());
  return loss;
}

Tensor LanguageModel::logits(const Tensor& tokens_BT, const ForwardContext& ctx) const {
  check_tokens(tokens_BT, sizes_.vocabulary);
  return unembed(checked_forward(tokens_BT, ctx));
}

Tensor LanguageModel::next_logits(const Tensor& tokens_BT, const ForwardContext& ctx) const {
  check_tokens(tokens_BT, sizes_.vocabulary);
  return unembed(Var(last_rows(checked_forward(tokens_BT, ctx).value())));
}

Tensor LanguageModel::logits_from(std::int64_t first, const Tensor& x_BTC, const ForwardContext& ctx) const {
  return unembed(forward_from(static_cast<std::size_t>(first), Var(x_BTC), ctx));
}

Tensor LanguageModel::lens_logits(const Tensor& x_BTC) const { return unembed(final_norm(Var(x_BTC))); }

Tensor LanguageModel::unembed(const Var& y_BTC) const {
  Tensor logits_BTV = linear(y_BTC, *unembedding_).value();
  if (logit_cap_ > 0) activation(logits_BTV, logits_BTV, SoftCap{logit_cap_});
  return logits_BTV;
}

Var LanguageModel::checked_forward(const Tensor& tokens_BT, ForwardContext ctx) const {
  const Device device = parameters_.device();
  const std::int64_t B = tokens_BT.dim(0), T = tokens_BT.dim(1), first = ctx.first_position();
  SINK_CHECK(first + T <= sizes_.context + (first > 0 ? extra_tokens_ : 0), "transformer",
             "expected tokens (B, T) with T at most the context " + std::to_string(sizes_.context) + ", got " +
                 tokens_BT.str() + (first > 0 ? " after " + std::to_string(first) + " that were read" : ""),
             Exit::bad_input);
  SINK_CHECK(!ctx.documents.positions_BT.defined() || extra_tokens_ == 0, "transformer",
             "--reset-positions does not go with a model that puts a token of its own first: each document "
             "would have another distance from it; leave out --reset-positions",
             Exit::usage);
  ctx.documents = ctx.documents.to(device);
  if (!ctx.cache) return forward(tokens_BT.to(device), ctx);

  const std::int64_t rows = T + (first == 0 ? extra_tokens_ : 0);
  set_decode_positions(ctx, B, rows, sizes_, extra_tokens_);
  ctx.documents.positions_BT = ctx.documents.positions_BT.to(device);
  Var y_BTC = forward(tokens_BT.to(device), ctx);
  ctx.cache->advance(rows);
  return y_BTC;
}

double LanguageModel::training_flops(std::int64_t tokens, std::int64_t T) const {
  double in_products = static_cast<double>(tied_weights_);
  for (const auto& parameter : parameters_)
    if (parameter->info().role == ParameterRole::weight)
      in_products += static_cast<double>(parameter->segment().size());
  // q k^T and a v: 4 T H D operations per token over the full pattern, half of them causal, times 3 for both passes.
  double attention = 3.0 * 2.0 * static_cast<double>(T * sizes_.heads * sizes_.width_of_head() * sizes_.attention_layers());
  return static_cast<double>(tokens) * (6 * in_products + attention);
}

}  // namespace sink
