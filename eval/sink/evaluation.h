// Measurements of a model on a set of sequences: its attention sinks, and the quantities that explain them.
//
// Positions are those inside the model: 0 ... T-1, or 0 ... T with a sink token, which comes first. Formulas count from
// 1, as in the paper: |v_1| and |h_1| are those of position 0, which is the sink token if there is one. alpha_k, Sink_k
// and loss_by_position count only real tokens.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "engine/comm/communicator.h"
#include "engine/data/data_config.h"
#include "eval/sink/sink_score.h"
#include "model/language_model.h"

namespace sink {

struct Evaluation {
  std::int64_t sequences = 0;
  std::int64_t context = 0;              // T, real tokens of a sequence
  std::int64_t targets = 0;              // tokens that are predicted
  double loss = 0;                       // nats per target; NaN without targets
  std::vector<double> loss_by_position;  // [0 ... T-1]: of the next token; NaN where no sequence has a target
  // What the model adds for queries to attend to.
  enum class Extra { none, key, token } extra = Extra::none;
  SinkScores proxy, raw;
  std::vector<std::int64_t> first_key_rows;  // [layer]: rows that see the first token, where all are one document
  double alpha_1_max = 0;                    // largest proxy alpha_1 of any (layer, head), mean over sequences
  // Proxy alpha_k of a token that is at another position k of each sequence, on request; the mean over sequences,
  // layers and heads, and divided by that of even attention.
  struct Fixed {
    double alpha = 0, over_even = 0;
  };
  std::optional<Fixed> fixed;

  // Means over rows and sequences; the scalars also over layers and heads.
  double row_sum = 0;           // sum_j a_ij, without the extra key
  double extra_key_weight = 0;  // a_i*, the weight of the extra key; 0 without one
  double entropy = 0;           // of the proxy weights with the extra key, nats
  ValueTable row_sum_layer_head, extra_key_weight_layer_head, entropy_layer_head;

  // |v_1| / mean_{t > 1} |v_t|, norms averaged over sequences and heads; mean over layers.
  double first_value_norm_ratio = 0;
  // |a_i1| |v_1| / sum_j |a_ij| |v_j|, mean over rows i > 1 that see key 1 (attention.h), and over layers and heads.
  double value_share = 0;
  ValueTable value_share_layer_head;
  ValueTable hidden_norm;              // [layer 0 ... L][position]
  ValueTable hidden_before_norm_norm;  // [layer 1 ... L][position]: |FFN(u) + u| of post-norm; empty for others
  ValueTable key_norm, value_norm;     // [layer][position], mean over heads too
  // Over the C elements of h_t: kurtosis, E[(x - mean)^4] / E[(x - mean)^2]^2 (3 for a normal distribution, C for a
  // single outlier; Kaul et al. 2025), and the largest |x|; means over sequences. [layer 0 ... L][position]
  ValueTable hidden_kurtosis, hidden_largest;
  // Massive activations: |h_1| / mean_{t > 1} |h_t| of each sequence, averaged over sequences.
  std::vector<double> massive_ratio;              // [layer 0 ... L]
  std::vector<double> massive_ratio_before_norm;  // [layer 1 ... L], of hidden_before_norm

  // q_i . k_j = |q_i| |k_j| cos, unscaled and before position biases: means over rows i > 1 that see key 1 (for j = 1),
  // and over all visible pairs i, j > 1. [layer][head]
  struct Split {
    ValueTable dot, norm_product, cosine;
  };
  Split first_key, other_keys;

  // Scores of the first T tokens of every sequence at other thresholds, on request (add_sinks_by_length).
  struct ByLength {
    std::vector<double> epsilons;
    std::vector<std::int64_t> lengths;   // T
    std::vector<SinkScores> proxy, raw;  // [T]
  } by_length;

  // Attention patterns of a few sequences (eval/sink/attention_patterns.h); zero where a query does not see a key.
  struct Patterns {
    std::int64_t layers = 0, heads = 0;
    bool extra_key = false;                         // column 0 is the extra key
    std::vector<std::vector<std::int32_t>> tokens;  // [sequence][position]; -1: the sink token
    // [(sequence * layers + layer) * heads + head]: F64 (positions, extra key + positions), raw; undefined where it is
    // not kept.
    std::vector<Tensor> weights;
    std::int64_t layer = 0, head = 0;  // the one that reports show first, of the first sequence
  } patterns;
};

// Throws Error (Exit::diverged) for a loss that is NaN or infinite. Weights are finite when a model is loaded, so
// values computed from them have overflowed, and no measure of them means anything. For programs that measure a given
// model; training reports such a loss and continues.
void require_finite_loss(double loss);
// The same for the lengths of the residual stream, where there is no loss: [layer 0 ... L][position].
void require_finite_stream(const ValueTable& hidden_norm);

// Runs the model over the sequences, `batch` at a time, and accumulates sums; no attention pattern is stored.
// `with_patterns`: add_patterns runs afterwards, in a separate pass. With `ranks`, each of N ranks measures every N-th
// batch, and all return the result of a single process to the bit; only the writer has patterns.
struct EvaluationRanks {
  Communicator* ranks = nullptr;
  // All ranks call it equally often, before each batch. An exception from it ends the evaluation.
  std::function<void()> before_batch = {};
};
// A token that every sequence has at one of the positions from ... to (from 1).
struct FixedToken {
  std::int32_t id;
  std::int64_t from, to;
};
// Of a run whose fixed token is not always the first; none for others, where alpha_1 is its alpha.
std::optional<FixedToken> moved_fixed_token(const DataConfig& data);

// `fixed`: fills Evaluation::fixed. Sequences that have the token twice at these positions, or after the first
// kSinkPositions, do not count.
Evaluation evaluate(LanguageModel& model, const Batch& sequences, std::int64_t batch, bool with_patterns,
                    const EvaluationRanks& ranks = {}, const std::optional<FixedToken>& fixed = {});

// Sink_k at any threshold and sequence length; the paper reports 0.3 at 64 tokens only.
// Fills evaluation.by_length: for every T of `lengths` (at most the context of the sequences, more than the prefix of
// the model) the model reads the first T tokens of every sequence, `batch` at a time. alpha_k is computed from column
// sums over those T rows, Sink_k at each of `epsilons`, for k up to `positions` (at most T).
void add_sinks_by_length(LanguageModel& model, const Batch& sequences, std::int64_t batch,
                         const std::vector<double>& epsilons, const std::vector<std::int64_t>& lengths,
                         Evaluation& evaluation, std::int64_t positions = kSinkPositions);

}  // namespace sink
