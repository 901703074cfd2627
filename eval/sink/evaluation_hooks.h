// The hooks that gather an Evaluation, one batch of sequences after another.
#pragma once

#include "eval/sink/evaluation.h"

namespace sink {

class EvaluationHooks final : public HiddenStateHooks {
 public:
  // Of `sequences` sequences of T real tokens, before which the model puts `extra_tokens`.
  EvaluationHooks(const Sizes& sizes, std::int64_t extra_tokens, std::int64_t sequences, std::int64_t T);

  // The next forward pass is that of sequences `sequence`, `sequence` + 1, ...
  void begin_batch(std::int64_t sequence, const DocumentPlaces& documents = {}) {
    sequence_ = sequence;
    documents_ = documents;
  }
  void hidden_state(std::int64_t l, const Tensor& x_BTC) override;
  void residual_before_norm(std::int64_t layer, const Tensor& x_BTC) override;
  void attention(AttentionPoint& point) override;
  // The loss of every target of the batch.
  void add_losses(const Tensor& loss_BT);

  // All that was gathered, as numbers; and what another probe, of as many sequences as it saw, has gathered of those
  // from `sequence` on. One after another in their order they give the same bits wherever each was measured.
  std::vector<double> numbers() const;
  void merge(std::int64_t sequence, const std::vector<double>& numbers);

  // Everything but the loss and the map; call after all sequences have passed.
  Evaluation evaluation() const;
  // The mean loss at every position over those of all sequences' targets that are not -1; NaN where there is none.
  std::vector<double> loss_by_position(const Tensor& targets_NT) const;

 private:
  // Sums over sequences of norms by position, and of the first one's ratio to the others.
  struct HiddenNorms {
    HiddenNorms(std::int64_t rows, std::int64_t positions);
    void add(std::int64_t row, const Tensor& x_BTC);
    NumberTable norm;
    std::vector<double> ratio;
  };

  // f(a row of sums) for all of them, in one order.
  template <class Self, class F>
  static void for_each_row(Self& probe, F&& f);

  std::int64_t N_, T_, extra_tokens_, K_;
  std::int64_t layers_, heads_, key_heads_;
  std::int64_t sequence_ = 0;
  DocumentPlaces documents_;
  bool extra_key_ = false, before_norm_seen_ = false;
  AlphaTable raw_, proxy_;
  HiddenNorms hidden_, before_norm_;
  NumberTable kurtosis_, largest_;     // [layer][position], sums over sequences
  std::vector<double> loss_;           // [position], sums over sequences
  NumberTable key_norm_, value_norm_;  // sums over sequences and heads
  NumberTable row_mass_, extra_key_mass_, entropy_,
      value_share_;  // [layer][head], sums over sequences, as is the split
  Evaluation::Split first_key_, other_keys_;
};

}  // namespace sink
