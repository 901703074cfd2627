// Training a golden case: its sizes as the settings of a run, and its batch in every step.
#pragma once

#include "tests/golden/model/golden_case.h"
#include "train/training_run.h"

namespace sink {

// The same batch in every step.
class OneBatch : public DataSource {
 public:
  explicit OneBatch(const Batch& batch) : batch_(batch) {}
  std::int64_t vocabulary() const override { return batch_.vocabulary(); }
  Batch train_batch(std::int64_t, std::int64_t, std::int64_t) const override { return batch_; }
  Batch validation_batch(std::int64_t, std::int64_t) const override { return batch_; }
  std::int64_t validation_sequences() const override { return batch_.sequences(); }
  std::string token_text(std::int32_t id) const override { return std::to_string(id); }
  std::int64_t train_tokens() const override { return 0; }

 private:
  Batch batch_;
};

// Without warm-up. What the optimiser is told is the caller's.
inline RunConfig golden_config(const GoldenCase& golden, DType type) {
  Sizes sizes = golden.sizes();
  RunConfig config;
  config.layers = sizes.layers;
  config.heads = sizes.heads;
  config.width = sizes.width;
  config.feed_forward = sizes.feed_forward;
  config.context = sizes.context;
  config.kv_heads = sizes.kv_heads;
  config.window = sizes.window;
  config.prefix = sizes.prefix;
  config.global_every = sizes.global_every;
  config.norm_epsilon = sizes.norm_epsilon;
  config.attention_scale = sizes.attention_scale;
  config.rotary_base = sizes.rotary_base;
  config.rotary_part = sizes.rotary_part;
  config.rotary_factor = sizes.rotary_factor;
  config.rotary_local_base = sizes.rotary_local_base;
  config.rotary_context = sizes.rotary_context;
  config.experts = sizes.experts;
  config.chosen_experts = sizes.chosen_experts;
  config.precision = name_of(type);
  config.warmup = 0;
  return config;
}

}  // namespace sink
