// The sink metric of the study (Gu et al. 2025, section 3.2): alpha_k and Sink_k out of column sums of attention.
//
// alpha_k of a (sequence, layer, head) is the attention that key k receives, summed over all rows and divided by the
// T - k + 1 rows that causal attention gives it (under a prefix mask, where every row sees it, alpha_k can exceed 1);
// Sink_k^eps is the share of (layer, head) with alpha_k > eps, taken per sequence first and averaged afterwards.
// `raw` uses the weights as they act, `proxy` the weights |a| / sum |a| of each row; they agree for softmax, and must
// never be mixed up for operations whose rows do not sum to one.
//
// Where documents follow each other in a sequence and queries see their own alone, those that key k is divided by are
// the rows of its document from k on.
//
// Real tokens are k = 1 ... T. What a model itself puts before them is scored as `*`, as the study's code does on maps
// of (T+1) x (T+1): an extra key has a row of its own with weight 1 on itself, so alpha_* = (1 + sum_i a_i*) / (T + 1);
// a sink token's alpha_* = (sum of its column over the T + 1 rows) / (T + 1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/data/batch.h"

namespace sink {

inline constexpr std::array<double, 3> kSinkEpsilons{0.2, 0.3, 0.4};
inline constexpr std::size_t kStudyEpsilon = 1;     // 0.3, the one the study reports
inline constexpr std::int64_t kSinkPositions = 10;  // k = 1 ... 10

// [row][column]: of layers and heads, or layers and positions.
using NumberTable = std::vector<std::vector<double>>;

// Scores of one kind of weights, raw or proxy.
struct SinkScores {
  std::vector<double> alpha_k;                  // k = 1 ... K: mean over sequences, layers and heads
  NumberTable sink_k;                           // [epsilon][k], percent
  NumberTable alpha_1_layer_head;               // [layer][head], mean over sequences
  std::vector<NumberTable> alpha_layer_head_k;  // [layer][head][k], mean over sequences
  double alpha_1() const { return alpha_k.front(); }

  // Of the extra key or sink token.
  struct Star {
    double alpha = 0;
    std::vector<double> sink;  // by epsilon, percent
    NumberTable alpha_layer_head;
  };
  std::optional<Star> star;
};

// Collects alpha_k of every (sequence, layer, head).
class AlphaTable {
 public:
  // Of N sequences of T real tokens, L layers, H heads and the first K keys.
  AlphaTable(std::int64_t N, std::int64_t L, std::int64_t H, std::int64_t T, std::int64_t K);

  // The sums over rows of layer l for a batch of sequences, the first being number `sequence`. column_sums_BHK has
  // exactly the K keys, behind those of `extra_tokens` sink tokens; extra_sums_BH counts if `extra_key`.
  void store(std::int64_t sequence, std::int64_t l, const Tensor& column_sums_BHK, std::int64_t extra_tokens,
             bool extra_key, const Tensor& extra_sums_BH, const DocumentPlaces& documents = {});
  // All of it as numbers, and those of a table of fewer sequences put in place from `sequence` on.
  std::vector<double> numbers() const;
  void put(std::int64_t sequence, std::span<const double> numbers);
  SinkScores scores(const std::vector<double>& epsilons = {kSinkEpsilons.begin(), kSinkEpsilons.end()}) const;

 private:
  SinkScores::Star star(const std::vector<double>& epsilons) const;

  std::int64_t T_;
  bool has_star_ = false;
  Tensor alpha_NLHK_, star_NLH_;
};

}  // namespace sink
