// The hooks that accumulate an Evaluation, one batch of sequences after another.
#pragma once

#include "eval/sink/evaluation.h"

namespace sink {

class EvaluationHooks : public HiddenStateHooks {
 public:
  // For `sequences` sequences of T real tokens, before which the model puts `extra_tokens`.
  struct Options {
    std::int64_t positions = kSinkPositions;  // whose alpha is kept
    bool scores_only = false;                 // proxy() and raw() alone
  };
  EvaluationHooks(const Sizes& sizes, std::int64_t extra_tokens, std::int64_t sequences, std::int64_t T,
                  const Options& options = {kSinkPositions, false});

  // The next forward pass reads sequences `sequence`, `sequence` + 1, ...
  void begin_batch(std::int64_t sequence, const DocumentPlaces& documents = {}) {
    sequence_ = sequence;
    documents_ = documents;
  }
  void hidden_state(std::int64_t l, const Tensor& x_BTC) override;
  void residual_before_norm(std::int64_t layer, const Tensor& x_BTC) override;
  void attention(AttentionPoint& point) override;
  // The loss of every target of the batch.
  void add_losses(const Tensor& loss_BT);

  // All sums so far.
  std::vector<double> sums() const;
  // Adds the sums() of other hooks, whose first sequence is `sequence`. Merged in the order of sequences, the result
  // has the same bits on any number of ranks.
  void merge(std::int64_t sequence, const std::vector<double>& sums);

  const AlphaTable& proxy() const { return proxy_; }
  const AlphaTable& raw() const { return raw_; }
  // Everything but the loss and the patterns; called after all sequences.
  Evaluation evaluation() const;
  // Sets alpha_fixed to that of the key at places[n] in sequence n, from 0; sequences with -1 do not count.
  void add_fixed(const std::vector<std::int64_t>& places, const Sizes& sizes, const DocumentPlaces& documents,
                 Evaluation& evaluation) const;
  // The mean loss at every position over the targets that are not -1; NaN where there is none.
  std::vector<double> loss_by_position(const Tensor& targets_NT) const;

 private:
  // Adds what measures need of these vectors, (B, T, D) or (B, H, T, D), to the row of a layer.
  void add_vectors(Vectors vectors, std::int64_t layer, const Tensor& x);

  Sizes sizes_;
  std::int64_t extra_tokens_, K_, sequence_ = 0;
  DocumentPlaces documents_;
  bool scores_only_, extra_key_ = false, before_norm_seen_ = false;
  AlphaTable raw_, proxy_;
  std::vector<double> later_rows_;  // [layer]: sequences with a row i > 1 that sees key 1
  Evaluation sums_;                 // sums over sequences instead of means; of keys and values, also over heads
};

}  // namespace sink
