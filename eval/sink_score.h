// The sink metric of the study (Gu et al. 2025, section 3.2) and what belongs beside it, gathered over sequences.
//
// alpha_k of a (sequence, layer, head) is the mean attention that key k receives from the rows that may see it;
// Sink_k^eps is the share of (layer, head) with alpha_k > eps, taken per sequence first and averaged afterwards.
// `raw` uses the weights as they act, `proxy` the weights |a| / sum |a| of each row; they agree for softmax, and must
// never be mixed up for operations whose rows do not sum to one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/language_model.h"

namespace sink {

inline constexpr std::array<double, 3> kSinkEpsilons{0.2, 0.3, 0.4};
inline constexpr std::size_t kStudyEpsilon = 1;     // 0.3, the one the study reports
inline constexpr std::int64_t kSinkPositions = 10;  // k = 1 ... 10

// Scores of one kind of weights, raw or proxy.
struct SinkScores {
  std::vector<double> alpha_k;                          // k = 1 ... K: mean over sequences, layers and heads
  std::array<std::vector<double>, 3> sink_k;            // [epsilon][k], percent
  std::vector<std::vector<double>> alpha_1_layer_head;  // [layer][head], mean over sequences
  double alpha_1() const { return alpha_k.front(); }
};

struct Evaluation {
  std::int64_t sequences = 0;
  std::int64_t context = 0;  // T of the sequences
  double loss = 0;           // nats a target
  SinkScores proxy, raw;
  double alpha_1_max = 0;  // largest proxy alpha_1 of any (layer, head), mean over sequences
  double row_mass = 0;     // mean over rows of sum_j a_ij
  double entropy = 0;      // mean over rows of the entropy of the proxy weights, nats
  // Mean over layers of |v_1| against the mean |v_t|, t > 1 (norms averaged over sequences and heads).
  double first_value_norm_ratio = 0;
  std::vector<std::vector<double>> hidden_norm;  // [layer 0 ... L][position]
  std::vector<std::vector<double>> key_norm;     // [layer][position]
  std::vector<std::vector<double>> value_norm;   // [layer][position]
  // One map to look at: the head with the largest mean alpha_1, in the first sequence; lower triangle, zeros above.
  struct Map {
    std::int64_t layer = 0, head = 0;
    std::vector<std::int32_t> tokens;
    std::vector<std::vector<double>> weights;
  } map;
};

// Runs the model over tokens_NT and targets_NT (I32, N sequences; target -1 = ignored) in batches and gathers all of
// it.
Evaluation evaluate(LanguageModel& model, const Tensor& tokens_NT, const Tensor& targets_NT, std::int64_t batch,
                    bool with_map);

}  // namespace sink
