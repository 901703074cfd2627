// LanguageModel: the interface of all models for training and evaluation.
#pragma once

#include "autograd/parameter_arena.h"
#include "engine/data/batch.h"
#include "model/forward_context.h"
#include "model/sizes.h"

namespace sink {

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  // loss_scale times the mean cross-entropy in nats over the targets of the batch that are not -1. If given,
  // `losses_BT` receives the cross-entropy of each target, 0 without a target.
  Var loss(const Batch& batch, double loss_scale = 1, const ForwardContext& ctx = {},
           Tensor* losses_BT = nullptr) const;
  // (B, T, V) for tokens I32 (B, T). Tokens are on the CPU, the logits and the tensors of hooks on the device of the
  // model.
  Tensor logits(const Tensor& tokens_BT, const ForwardContext& ctx = {}) const;
  // (B, V): the logits after the last token only.
  Tensor next_logits(const Tensor& tokens_BT, const ForwardContext& ctx = {}) const;

  // logits() of the text whose residual stream before block `first` is x_BTC, with the extra tokens of the model.
  Tensor logits_from(std::int64_t first, const Tensor& x_BTC, const ForwardContext& ctx = {}) const;

  // (B, T, C) to (B, T, V): final norm and unembedding of a residual stream, as if no block followed (the logit lens).
  Tensor lens_logits(const Tensor& x_BTC) const;

  const Sizes& sizes() const { return sizes_; }
  // Tokens that the model puts before every sequence. Tensors of hooks include them.
  std::int64_t extra_tokens() const { return extra_tokens_; }
  // Whether keys that were dropped may stay in a cache, so that several tokens are read at once (CacheWindow::step).
  bool reads_ahead() const { return reads_ahead_; }
  // In a fixed order that depends only on the sizes.
  const ParameterArena& parameters() const { return parameters_; }
  ParameterArena& parameters() { return parameters_; }
  // Floating-point operations of one training step on `tokens` tokens: 6 for every weight of a product, and the
  // products of attention over half the T x T pattern. Recomputation inside kernels is not counted.
  double training_flops(std::int64_t tokens, std::int64_t T) const;

 protected:
  LanguageModel(const Sizes& sizes, std::int64_t extra_tokens, DType compute, Device device = Device::cpu)
      : sizes_(sizes), extra_tokens_(extra_tokens), parameters_(compute, device) {}

  // The final hidden states (B, T, C), whose products with the unembedding are the logits. Tokens and documents are on
  // the device of the model, with checked sizes and positions.
  virtual Var forward(const Tensor& tokens_BT, const ForwardContext& ctx) const = 0;
  // Its last steps: the blocks from `first` on, counted from 0, and the final norm; and the final norm alone.
  virtual Var forward_from(std::size_t first, Residual x_BTC, const ForwardContext& ctx) const = 0;
  virtual Var final_norm(const Var& x_BTC) const = 0;

  Sizes sizes_;
  std::int64_t extra_tokens_;
  bool reads_ahead_ = false;
  const Parameter* unembedding_ = nullptr;  // W_U (V, C)
  double logit_cap_ = 0;                    // logits are cap tanh(logit / cap); 0: not
  std::int64_t tied_weights_ = 0;           // of an embedding that is also the unembedding
  ParameterArena parameters_;

 private:
  Var checked_forward(const Tensor& tokens_BT, ForwardContext ctx) const;
  Tensor unembed(const Var& y_BTC) const;
};

}  // namespace sink
