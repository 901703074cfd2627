#include "engine/data/bigram_backcopy.h"

#include <algorithm>
#include <cmath>

#include "engine/check.h"

namespace sink {

double gamma_draw(const Rng& rng, std::uint64_t i, double shape) {
  // Below 1 the density has a pole; Gamma(a) = Gamma(a + 1) u^(1/a) avoids it.
  double boost = shape < 1 ? std::pow(rng.uniform(i, 0), 1 / shape) : 1;
  double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint32_t lane = 1;; lane += 2) {
    double x = rng.normal(i, lane), v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    double u = 1 - rng.uniform(i, lane + 1);  // (0, 1]
    if (std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) return boost * d * v;
  }
}

BigramBackcopy::BigramBackcopy(const DataConfig& config, std::int64_t context, std::int64_t prefix)
    : context_(context),
      accumulate_(config.accumulate),
      validation_sequences_(config.eval_sequences),
      ignored_train_(std::max<std::int64_t>(1, ignored_targets(config, prefix, false))),
      ignored_validation_(std::max<std::int64_t>(1, ignored_targets(config, prefix, true))),
      train_rng_(config.seed, "bigram-backcopy train"),
      validation_rng_(config.seed, "bigram-backcopy validation"),
      transition_(kSymbols),
      thresholds_(kSymbols) {
  SINK_CHECK(context_ >= 2 && accumulate_ >= 1, "bigram-backcopy", "context must be at least 2, accumulate at least 1",
             Exit::usage);
  SINK_CHECK(
      config.fixed_token <= 0 && config.fixed_position == 1 && config.fixed_to == 0 && config.fixed_probability == 1,
      "bigram-backcopy",
      "the first token of this task is always 0 and no other is fixed: leave out --fixed-token, "
      "--fixed-position, --fixed-to and --fixed-probability",
      Exit::usage);
  const DataConfig usual;
  SINK_CHECK(config.random_from == 0 && config.random_to == 0 && config.data_fraction == 1 &&
                 config.data_order == usual.data_order && config.loader_ranks == usual.loader_ranks &&
                 !config.document_mask && !config.reset_positions,
             "bigram-backcopy",
             "--random-from, --random-to, --data-fraction, --data-order, --loader-ranks, --document-mask and "
             "--reset-positions apply to the task text only: leave them out",
             Exit::usage);
  Rng rng(config.seed, "bigram-backcopy transition");
  for (std::size_t a = 0; a < transition_.size(); ++a) {
    Row& row = transition_[a];
    double sum = 0, running = 0;
    for (std::size_t b = 0; b < row.size(); ++b) sum += row[b] = gamma_draw(rng, a * row.size() + b, kConcentration);
    for (std::size_t b = 0; b < row.size(); ++b) {
      running += row[b] /= sum;
      // The last threshold is never reached, whatever rounding did to the sum.
      thresholds_[a][b] =
          b + 1 == row.size() ? UINT32_MAX : static_cast<std::uint32_t>(std::min(running * 0x1p32, 0x1p32 - 1));
    }
  }
}

Batch BigramBackcopy::train_batch(std::int64_t step, std::int64_t micro, std::int64_t batch) const {
  SINK_CHECK(
      step >= 0 && micro >= 0 && micro < accumulate_, "bigram-backcopy",
      "step " + std::to_string(step) + ", micro-batch " + std::to_string(micro) + " of " + std::to_string(accumulate_));
  return make_batch(train_rng_, (step * accumulate_ + micro) * batch, batch, ignored_train_);
}

Batch BigramBackcopy::validation_batch(std::int64_t first_sequence, std::int64_t batch) const {
  SINK_CHECK(first_sequence >= 0 && batch >= 0 && first_sequence + batch <= validation_sequences_, "bigram-backcopy",
             "validation sequences [" + std::to_string(first_sequence) + ", " + std::to_string(first_sequence + batch) +
                 ") of " + std::to_string(validation_sequences_));
  return make_batch(validation_rng_, first_sequence, batch, ignored_validation_);
}

Batch BigramBackcopy::make_batch(const Rng& rng, std::int64_t first_sequence, std::int64_t batch,
                                 std::int64_t ignored) const {
  Tensor tokens_BT = Tensor::empty({batch, context_}, DType::I32), targets_BT = Tensor::empty_like(tokens_BT);
  std::vector<std::int32_t> x(static_cast<std::size_t>(context_) + 1);
  for (std::int64_t row = 0; row < batch; ++row) {
    auto sequence = static_cast<std::uint64_t>(first_sequence + row);
    x[0] = 0;
    x[1] = 1 + static_cast<std::int32_t>(rng.below(sequence, kSymbols - 1, 0));
    std::array<std::uint32_t, 4> words{};
    for (std::size_t t = 1; t + 1 < x.size(); ++t) {
      // Four draws from each block of random words; a copy leaves its draw unused, so draw t belongs to place t.
      if (t % 4 == 1) words = rng.words(sequence, static_cast<std::uint32_t>(1 + t / 4));
      if (is_trigger(x[t])) {
        x[t + 1] = x[t - 1];
        continue;
      }
      // The next symbol is the number of thresholds that the draw has reached.
      std::uint32_t draw = words[(t - 1) % 4];
      std::int32_t next = 0;
      for (std::uint32_t threshold : thresholds_[static_cast<std::size_t>(x[t])]) next += draw >= threshold;
      x[t + 1] = std::clamp<std::int32_t>(next, 1, kSymbols - 1);
    }
    std::copy(x.begin(), x.end() - 1, tokens_BT.data<std::int32_t>() + row * context_);
    std::copy(x.begin() + 1, x.end(), targets_BT.data<std::int32_t>() + row * context_);
    std::fill_n(targets_BT.data<std::int32_t>() + row * context_, ignored, -1);
  }
  return {tokens_BT, targets_BT, kSymbols};
}

std::string BigramBackcopy::token_text(std::int32_t id) const {
  SINK_CHECK(id >= 0 && id < kSymbols, "bigram-backcopy", "symbol " + std::to_string(id) + " of 64");
  return is_trigger(id) ? "trigger " + std::to_string(id) : std::to_string(id);
}

// The distribution of the symbol after a, where a is no trigger: 0 has become 1.
BigramBackcopy::Row BigramBackcopy::next_symbol(std::int64_t a) const {
  Row row = transition_[static_cast<std::size_t>(a)];
  row[1] += row[0];
  row[0] = 0;
  return row;
}

double BigramBackcopy::entropy_floor() const {
  std::vector<Row> next(kSymbols);
  Row entropy{};  // of the symbol after a; a copy has none
  for (std::size_t a = 0; a < kSymbols; ++a) {
    next[a] = next_symbol(static_cast<std::int64_t>(a));
    if (is_trigger(static_cast<std::int64_t>(a))) continue;
    for (double p : next[a]) entropy[a] -= p > 0 ? p * std::log(p) : 0;
  }
  // pair[a][b] = P(x_{t-1} = a, x_t = b), from t = 1 on: a copy depends on both.
  std::vector<Row> pair(kSymbols, Row{});
  for (std::size_t b = 1; b < kSymbols; ++b) pair[0][b] = 1.0 / (kSymbols - 1);
  double total = 0;
  for (std::int64_t t = 1; t < context_; ++t) {
    std::vector<Row> after(kSymbols, Row{});
    for (std::size_t b = 0; b < kSymbols; ++b) {
      double mass = 0;
      for (std::size_t a = 0; a < kSymbols; ++a) mass += pair[a][b];
      total += mass * entropy[b];
      for (std::size_t c = 0; c < kSymbols; ++c) {
        after[b][c] = is_trigger(static_cast<std::int64_t>(b)) ? pair[c][b] : mass * next[b][c];
      }
    }
    pair = after;
  }
  return total / static_cast<double>(context_ - 1);
}

double BigramBackcopy::best_loss(const Batch& batch) const {
  const auto* tokens = batch.tokens_BT().data<std::int32_t>();
  const auto* targets = batch.targets_BT().data<std::int32_t>();
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < batch.tokens_BT().size(); ++i) {
    if (targets[i] < 0) continue;
    ++counted;
    if (is_trigger(tokens[i])) continue;
    sum -= std::log(next_symbol(tokens[i])[static_cast<std::size_t>(targets[i])]);
  }
  return sum / static_cast<double>(counted);
}

}  // namespace sink
