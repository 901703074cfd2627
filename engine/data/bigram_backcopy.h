// The Bigram-Backcopy task (Guo et al. 2024, arXiv 2410.13835): a Markov chain with trigger symbols; after a trigger
// the symbol before it is copied. The smallest known task with attention sinks, trained in minutes on a CPU.
#pragma once

#include <array>
#include <vector>

#include "engine/data/data_source.h"
#include "engine/rng.h"

namespace sink {

// Marsaglia and Tsang (2000): a draw of Gamma(shape, 1), a pure function of (rng, i).
double gamma_draw(const Rng& rng, std::uint64_t i, double shape);

// A sequence is x_0 = 0, x_1 uniform in {1, ..., 63}, then x_{t+1} = x_{t-1} if x_t is one of the triggers {1, 2, 3},
// else drawn from row x_t of the transition matrix, with 0 replaced by 1. Rows ~ Dirichlet(0.1), a function of the seed
// only. Tokens are x_0 ... x_{T-1}, targets x_1 ... x_T, of which the first is ignored: nothing can predict it.
class BigramBackcopy : public DataSource {
 public:
  static constexpr std::int64_t kSymbols = 64;
  static constexpr std::int32_t kTriggers = 3;  // 1, 2, 3; symbol 0 is the fixed first token
  static constexpr double kConcentration = 0.1;

  BigramBackcopy(const DataConfig& config, std::int64_t context, std::int64_t prefix = 0);

  std::int64_t vocabulary() const override { return kSymbols; }
  Batch train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const override;
  Batch validation_batch(std::int64_t first_sequence, std::int64_t batch) const override;
  std::int64_t validation_sequences() const override { return validation_sequences_; }
  std::string token_text(std::int32_t id) const override;
  std::int64_t train_tokens() const override { return 0; }

  // Row a: probabilities of the symbol after a, as drawn (before 0 becomes 1, and without the triggers' copies).
  const std::array<double, kSymbols>& transition(std::int32_t a) const {
    return transition_[static_cast<std::size_t>(a)];
  }

  // The expected loss in nats of the best predictor, exact: the mean entropy of the next symbol over the scored
  // positions. No model can do better on average.
  double entropy_floor() const;

  // The loss in nats of that predictor on a batch of this task: mean -log p of its targets; a copy is certain.
  double best_loss(const Batch& batch) const;

 private:
  using Row = std::array<double, kSymbols>;

  static bool is_trigger(std::int64_t symbol) { return symbol >= 1 && symbol <= kTriggers; }
  Row next_symbol(std::int64_t a) const;
  Batch make_batch(const Rng& rng, std::int64_t first_sequence, std::int64_t batch, std::int64_t ignored) const;

  std::int64_t context_;  // T
  std::int64_t accumulate_;
  std::int64_t validation_sequences_;
  std::int64_t ignored_train_, ignored_validation_;  // targets at the beginning of a sequence
  Rng train_rng_;
  Rng validation_rng_;
  std::vector<Row> transition_;
  std::vector<std::array<std::uint32_t, kSymbols>> thresholds_;  // of each row's running sum, in units of 2^-32
};

}  // namespace sink
