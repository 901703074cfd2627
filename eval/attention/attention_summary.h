// Where the attention of one text goes: how much of it each token gets in every head.
//
// Weights are proxy weights, |a_ij| / sum_j |a_ij|, so that every row sums to one. Key k is a token of the text,
// k = 1 ... T, or what the model adds before it, `*` (an extra key or a sink token).
//
//     alpha_k = 1/r_k sum_i a_ik     over the r_k rows that see key k, as in sink_score.h: the row of a sink token sees
//                                    a prefix, too
//     share_k = 1/T sum_i a_ik       of all attention of the text's rows
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "eval/sink/evaluation.h"
#include "model/language_model.h"

namespace sink {

struct HeadSummary {
  std::int64_t layer = 0, head = 0;  // from 0
  std::vector<double> alpha_T;
  std::vector<double> share_T;
  double alpha_star = 0;          // 0 without an extra key or sink token
  double self = 0, previous = 0;  // mean weight of the query's own token, and of the one before (rows from 2 on)
  double row_sum = 0;             // mean of sum_j a_ij, the weights as they act, without the extra key
  // Of FirstTokenByQuery: the least-squares slope of the margin of token 1 against ln i, over queries i > 1 that see it
  double margin_slope = std::numeric_limits<double>::quiet_NaN();

  double alpha_1() const { return alpha_T.front(); }
};

struct AttentionSummary {
  std::vector<std::int32_t> tokens_T;
  std::int64_t layers = 0, heads = 0;
  Evaluation::Extra extra = Evaluation::Extra::none;
  double loss = std::numeric_limits<double>::quiet_NaN();  // nats per token; NaN for one token, or without logits
  double even_alpha_1 = 0, even_alpha_star = 0;            // if every row were even (even_attention.h)
  std::vector<double> even_alpha_1_L;                      // the same of each layer with attention
  std::vector<HeadSummary> head_LH;                        // all heads of layers with attention, by layer
  std::vector<double> by_distance_T;                       // [i - j]: its share of all attention, mean over heads
  // [i]: the weight of token 1, mean over the heads of layers where query i sees token 1; NaN where none does. Empty
  // unless asked for.
  std::vector<double> alpha_1_by_query_T;
  std::vector<std::vector<double>> rows_LT;  // [layer]: how many rows see token t; empty: no attention
  // Lengths of vectors at the tokens of the text.
  std::vector<std::vector<double>> hidden_norm_LT;  // |h_t|, [0 ... L]: 0 is the embedding, l the output of block l - 1
  std::vector<std::vector<double>> value_norm_LT;   // |v_t|, [layer], mean over the heads of values; or empty

  double alpha_1() const;  // mean over heads
  double alpha_star() const;
  double sink_1(double epsilon) const;               // percentage of heads whose alpha_1 is above epsilon
  std::vector<std::int64_t> first_key_rows() const;  // [layer with attention]: rows that see the first token
  std::vector<double> alpha_1_by_layer() const;      // NaN: no attention
  // |h_1| / mean_{t > 1} |h_t| where it is largest, the massive activation; and l of hidden_norm_LT.
  std::pair<double, std::int64_t> massive_ratio() const;
};

// Sees what a summary is computed from, in the order of the forward pass.
struct SummaryVisitor {
  virtual ~SummaryVisitor() = default;
  // The residual stream, numbered as hidden_norm_LT; P positions are the extra tokens of the model and the text.
  virtual void hidden_state(std::int64_t /*l*/, const Tensor& /*x_1PC*/) {}
  // The attention of a layer, before the patterns of its heads.
  virtual void attention(const AttentionPoint& /*point*/) {}
  // The proxy weights of one head after the other, F64 between tokens of the text; unless the visitor does without.
  virtual bool needs_patterns() const { return true; }
  virtual void pattern(const Tensor& /*weights_TT*/) {}
  // The heads of the layer, at its end.
  virtual void heads(const AttentionPoint& /*point*/, std::span<const HeadSummary> /*head_H*/) {}
};

// The most tokens of a text whose patterns are computed: as many as there are threads are in memory at a time. They are
// for a visitor that needs them, and for models with a sink token. Otherwise sums by key suffice (attention_key_sums),
// for a text of any length.
inline constexpr std::int64_t kLongestPatterns = 1024;

// Runs the model over tokens_1T, I32. Without logits there is no loss. Calls after_layer(layers done) after each layer.
// Throws Error: Exit::diverged where values of the model overflow, Exit::bad_input where patterns would be too large.
AttentionSummary summarise_attention(LanguageModel& model, const Tensor& tokens_1T, SummaryVisitor* visitor = nullptr,
                                     bool has_logits = true,
                                     const std::function<void(std::int64_t)>& after_layer = nullptr);

// Fills alpha_1_by_query_T and the margin_slope of all heads, by one more pass of attention in each layer. Leaves both
// in a model with a sink token, in one whose heads have one element, and of operations whose weights are no exponentials of scores up to a factor.
struct FirstTokenByQuery final : SummaryVisitor {
  explicit FirstTokenByQuery(const Sizes& sizes) : sizes(sizes) {}
  bool needs_patterns() const override { return false; }
  void attention(const AttentionPoint& point) override;
  void add_to(AttentionSummary& summary) const;

 private:
  const Sizes& sizes;
  std::vector<double> sum_T, heads_T;
  std::vector<double> margin_slope_LH;
};

// A token other than the first that is a sink in some heads: alpha_k above the paper's threshold of 0.3. In each layer
// only tokens count that at least 8 queries see, and a quarter of those that see the first token: the last ones have a
// large alpha_k from their own row alone.
struct SecondarySink {
  std::int64_t position = 0;                     // k, from 1
  std::int64_t heads = 0;                        // how many
  std::int64_t first_layer = 0, last_layer = 0;  // of those heads: where it begins and ends
  std::int64_t layers = 0;                       // in how many layers it is one: its lifetime
};
// Those of the most heads first.
std::vector<SecondarySink> secondary_sinks(const AttentionSummary& summary);

}  // namespace sink
