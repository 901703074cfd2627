// The sink metric of the paper (Gu et al. 2025, section 3.2): alpha_k and Sink_k from column sums of attention.
//
// `raw` uses the attention weights a_ij, `proxy` the weights |a_ij| / sum_j |a_ij|. They are equal for softmax and
// differ for operations whose rows do not sum to one.
//
// Real tokens are k = 1 ... T. An extra key or sink token is scored as `*`, as in the paper's code, whose patterns are
// (T+1) x (T+1): an extra key has a row with weight 1 on itself; alpha_* of a sink token is the mean of its column over
// the rows that see it, T + 1 without a window.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/data/batch.h"
#include "eval/sink/measures.h"

namespace sink {

// alpha_k of one sequence, layer and head: the mean attention that key k receives over the rows that see it. Those are
// T - k + 1 under the causal mask, as in the paper; under a window of w keys at most w; in packed sequences with a
// document mask those from k to the end of its document; of a prefix all (even_attention.h counts them).
inline double alpha_of_key(double column_sum, double rows) { return column_sum / rows; }
inline double alpha_of_extra_key(double column_sum, std::int64_t T) {
  return (1 + column_sum) / static_cast<double>(T + 1);
}
// Sink_k^epsilon is the mean of this over sequences, layers and heads, in percent. Not a number where alpha is not
// finite: such a model has no share of sinks.
inline double is_sink(double alpha, double epsilon) { return (alpha > epsilon ? 1 : 0) + (alpha - alpha); }

// (row, column) of the largest value that is not NaN, the first of equals.
std::pair<std::int64_t, std::int64_t> largest_cell(const ValueTable& table);

// Collects alpha_k of every (sequence, layer, head).
class AlphaTable {
 public:
  // N sequences of T real tokens, L layers, H heads and the first K keys.
  AlphaTable(std::int64_t N, std::int64_t L, std::int64_t H, std::int64_t T, std::int64_t K);

  // The column sums of layer l for a batch whose first sequence has index `sequence`, and how many rows see each
  // column. Both have the `extra_tokens` sink tokens first, then the K keys; extra_sums_BH is used with `extra_key`
  // only.
  void store(std::int64_t sequence, std::int64_t l, const Tensor& column_sums_BHK, const ValueTable& rows_BK,
             std::int64_t extra_tokens, bool extra_key, const Tensor& extra_sums_BH);
  // The whole table, and the values() of a table of fewer sequences copied into this one from `sequence` on.
  std::vector<double> values() const;
  void set_values(std::int64_t sequence, std::span<const double> values);
  // The mean of alpha over layers and heads of the key with index k (from 0) in a sequence.
  double alpha(std::int64_t sequence, std::int64_t k) const;
  SinkScores scores(const std::vector<double>& epsilons = {kSinkEpsilons.begin(), kSinkEpsilons.end()}) const;

 private:
  std::int64_t T_;
  bool has_star_ = false;
  Tensor alpha_NLHK_, star_NLH_;
};

}  // namespace sink
