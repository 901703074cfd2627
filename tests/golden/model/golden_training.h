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
  RunConfig config;
  static_cast<Sizes&>(config) = golden.sizes();
  config.precision = name_of(type);
  config.warmup = 0;
  return config;
}

}  // namespace sink
