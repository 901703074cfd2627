// What training and evaluation need of a model, whatever its mathematics.
#pragma once

#include <functional>

#include "autograd/parameter_arena.h"
#include "engine/data/batch.h"
#include "model/forward_context.h"
#include "model/sizes.h"

namespace sink {

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  // loss_scale times the mean cross-entropy in nats over the targets of the batch that are not -1. `losses_BT`, if any,
  // becomes the cross-entropy of each target, 0 where there is none.
  Var loss(const Batch& batch, double loss_scale = 1, const ForwardContext& ctx = {},
           Tensor* losses_BT = nullptr) const;
  // (B, T, V) of tokens I32 (B, T), on the model's device, as are all tensors that hooks see; tokens are on the CPU.
  Tensor logits(const Tensor& tokens_BT, const ForwardContext& ctx = {}) const;
  // (B, V): the logits after the last token only.
  Tensor next_logits(const Tensor& tokens_BT, const ForwardContext& ctx = {}) const;

  const Sizes& sizes() const { return sizes_; }
  // Tokens that the model itself puts before every sequence; hooks see them, first.
  std::int64_t extra_tokens() const { return extra_tokens_; }
  // In a fixed order that depends on the sizes alone.
  const ParameterArena& parameters() const { return parameters_; }
  ParameterArena& parameters() { return parameters_; }
  // Floating-point operations of one training step on `tokens` tokens: 6 for every weight in a product, and attention's
  // products over half the T x T pattern. Recomputation inside kernels is not counted.
  double training_flops(std::int64_t tokens, std::int64_t T) const;

 protected:
  LanguageModel(const Sizes& sizes, std::int64_t extra_tokens, DType compute, Device device = Device::cpu)
      : sizes_(sizes), extra_tokens_(extra_tokens), parameters_(compute, device) {}

  // (hidden states (B, T, C), unembedding W (V, C)) to logits or a loss.
  using Unembed = std::function<Var(const Var& y_BTC, const Parameter& W_VC)>;
  // The model. Tokens and documents are on its device, and their sizes and positions have been checked.
  virtual Var forward(const Tensor& tokens_BT, const ForwardContext& ctx, const Unembed& unembed) const = 0;

  Sizes sizes_;
  std::int64_t extra_tokens_;
  std::int64_t tied_weights_ = 0;  // of an embedding that is a weight of a product too
  ParameterArena parameters_;

 private:
  Var checked_forward(const Tensor& tokens_BT, ForwardContext ctx, const Unembed& unembed) const;
};

}  // namespace sink
