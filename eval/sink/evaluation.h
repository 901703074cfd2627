// What is measured of a model on a set of sequences: the sinks, and what belongs beside them.
//
// Positions are those inside the model: 0 ... T-1, or with a sink token 0 ... T, the sink token first. "The first
// position" below is the first of these.
#pragma once

#include <functional>
#include <utility>

#include "engine/comm/communicator.h"
#include "eval/sink/sink_score.h"
#include "model/language_model.h"

namespace sink {

struct Evaluation {
  std::int64_t sequences = 0;
  std::int64_t context = 0;              // T, real tokens of a sequence
  double loss = 0;                       // nats a target; NaN where there is none
  std::vector<double> loss_by_position;  // [0 ... T-1]: of the target behind it; NaN where no sequence has one
  // What the model itself puts where queries can attend to it.
  enum class Extra { none, key, token } extra = Extra::none;
  SinkScores proxy, raw;
  double alpha_1_max = 0;  // largest proxy alpha_1 of any (layer, head), mean over sequences

  // Means over rows (and sequences; in the first form also over layers and heads).
  double row_mass = 0;        // of sum_j a_ij, the extra key not counted
  double extra_key_mass = 0;  // of a_i*, the extra key's; 0 without one
  double entropy = 0;         // of the proxy weights, extra key included, nats
  NumberTable row_mass_layer_head, extra_key_mass_layer_head, entropy_layer_head;

  // Mean over layers of |v_1| against the mean |v_t|, t > 1 (norms averaged over sequences and heads).
  double first_value_norm_ratio = 0;
  // |a_i1| |v_1| against the sum of all |a_ij| |v_j|, mean over rows i > 1 that see key 1 (attention.h), and over
  // layers and heads.
  double value_share = 0;
  NumberTable value_share_layer_head;
  NumberTable hidden_norm;              // [layer 0 ... L][position]
  NumberTable hidden_before_norm_norm;  // [layer 1 ... L][position]: post-norm's FFN(U) + U; empty for others
  NumberTable key_norm, value_norm;     // [layer][position], mean over heads too
  // Of the C numbers of h_t: their kurtosis, E[(x - mean)^4] / E[(x - mean)^2]^2 (3 for a normal distribution, C for
  // one that stands out alone; Kaul et al. 2025), and the largest |x|; means over sequences. [layer 0 ... L][position]
  NumberTable hidden_kurtosis, hidden_largest;
  // |h_1| / mean_{t > 1} |h_t| of each sequence, averaged over sequences: massive activations.
  std::vector<double> massive_ratio;              // [layer 0 ... L]
  std::vector<double> massive_ratio_before_norm;  // [layer 1 ... L]: of hidden_before_norm

  // q_i . k_j = |q_i| |k_j| cos, unscaled and before position biases: means over rows i > 1 that see key 1 (for j = 1),
  // and over all visible pairs i, j > 1. [layer][head]
  struct Split {
    NumberTable dot, norm_product, cosine;
  };
  Split first_key, other_keys;

  // Scores of the first T tokens of every sequence, for other thresholds, where they are asked for
  // (eval/sink/sink_by_length.h); empty otherwise.
  struct ByLength {
    std::vector<double> epsilons;
    std::vector<std::int64_t> lengths;   // T
    std::vector<SinkScores> proxy, raw;  // [T]
  } by_length;

  // Whole maps of a few sequences, to look at (eval/sink/evaluation_maps.h); zero where a query does not see a key.
  struct Maps {
    std::int64_t layers = 0, heads = 0;
    bool extra_key = false;                         // column 0 is the extra key's
    std::vector<std::vector<std::int32_t>> tokens;  // [sequence][position]; -1: the sink token
    // [(sequence * layers + layer) * heads + head]: F64 (positions, extra key + positions), raw; undefined where not
    // kept
    std::vector<Tensor> weights;
    std::int64_t layer = 0, head = 0;  // chosen, to be shown first, of the first sequence
  } maps;
};

// Runs the model over the sequences, `batch` at a time, and gathers all of it by streaming sums, in which no map is
// stored; with_maps, keep_maps follows in a pass of its own. With `ranks` each has every N-th batch, and all get what
// one would have got, to the bit; maps are the writer's.
struct EvaluationRanks {
  Communicator* ranks = nullptr;
  // Called by all ranks as often, before each has its next batch; what it throws ends the evaluation.
  std::function<void()> before_batch = {};
};
Evaluation evaluate(LanguageModel& model, const Batch& sequences, std::int64_t batch, bool with_maps,
                    const EvaluationRanks& ranks = {});

// (layer, head) of the largest proxy alpha_1.
std::pair<std::int64_t, std::int64_t> strongest_head(const Evaluation& evaluation);

}  // namespace sink
