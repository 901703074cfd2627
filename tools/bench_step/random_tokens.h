// Random tokens, for measurements of training steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/data/data_source.h"
#include "engine/rng.h"

namespace sink {

// Four batches of random tokens, in turn.
class RandomTokens : public DataSource {
 public:
  RandomTokens(std::int64_t V, std::int64_t B, std::int64_t T) : vocabulary_(V) {
    for (std::uint64_t n = 0; n < 4; ++n) {
      Rng rng(n, "bench tokens");
      auto id = [&](std::int64_t i, std::int64_t) {
        return rng.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(V));
      };
      Tensor ids = Tensor::table<std::int32_t>(B * T + 1, 1, id);
      batches_.emplace_back(ids.rows(0, B * T).reshape({B, T}), ids.rows(1, B * T + 1).reshape({B, T}), V);
    }
  }

  std::int64_t vocabulary() const override { return vocabulary_; }
  Batch train_batch(std::int64_t step, std::int64_t, std::int64_t) const override {
    return batches_[static_cast<std::size_t>(step % 4)];
  }
  Batch validation_batch(std::int64_t, std::int64_t) const override { return batches_[0]; }
  std::int64_t validation_sequences() const override { return batches_[0].sequences(); }
  std::string token_text(std::int32_t id) const override { return std::to_string(id); }
  std::int64_t train_tokens() const override { return 0; }

 private:
  std::int64_t vocabulary_;
  std::vector<Batch> batches_;
};

}  // namespace sink
