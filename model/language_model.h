// What training and evaluation need of a model, whatever its mathematics.
#pragma once

#include "autograd/parameter_arena.h"
#include "engine/data/batch.h"
#include "model/pass.h"
#include "model/section_watch.h"
#include "model/sizes.h"

namespace sink {

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  // scale times the mean cross-entropy in nats over what the batch predicts.
  virtual Var loss(const Batch& batch, double scale = 1, const Pass& pass = {}) = 0;
  // (B, T, V) of tokens I32 (B, T), on the model's device, as all that a probe sees; tokens are on the CPU.
  virtual Tensor logits(const Tensor& tokens_BT, const Pass& pass = {}) = 0;
  // (B, V): those behind the last token alone, which is what a text goes on by.
  virtual Tensor next_logits(const Tensor& tokens_BT, const Pass& pass = {}) = 0;

  const Sizes& sizes() const { return sizes_; }
  // Tokens that the model itself puts before every sequence; probes see them, first.
  std::int64_t extra_tokens() const { return extra_tokens_; }
  // In a fixed order that depends on the sizes alone.
  const ParameterArena& parameters() const { return parameters_; }
  ParameterArena& parameters() { return parameters_; }
  // Floating-point operations of one training step on `tokens` tokens: 6 for every weight in a product, and attention's
  // products over half the T x T map. Recomputation inside kernels is not counted.
  double training_flops(std::int64_t tokens, std::int64_t T) const;
  // From now on `watch` is told of every pass; null: nobody is.
  void watch_sections(SectionWatch* watch) { watch_ = watch; }

 protected:
  LanguageModel(const Sizes& sizes, std::int64_t extra_tokens, DType compute, Device device = Device::cpu)
      : sizes_(sizes), extra_tokens_(extra_tokens), parameters_(compute, device) {}

  // What a model calls before a pass reads a section's parameters, and behind that.
  void enter(std::int64_t section) const;
  void leave(std::int64_t section) const;

  Sizes sizes_;
  std::int64_t extra_tokens_;
  std::int64_t tied_weights_ = 0;  // of an embedding that is a weight of a product too
  ParameterArena parameters_;

 private:
  SectionWatch* watch_ = nullptr;
};

}  // namespace sink
