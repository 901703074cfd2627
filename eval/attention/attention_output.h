// An AttentionSummary as text for a terminal and as JSON.
#pragma once

#include <functional>
#include <string>

#include "eval/attention/attention_summary.h"

namespace sink {

// What a summary is of, and how tokens are written.
struct SummaryLabels {
  std::string model;  // its path
  std::string ablation, policies;
  std::int64_t context = 0;  // of the model; a text may be longer
  std::string begin = {};    // how the text began: "the first is <s>, added by ..."
  bool text_begins = false;  // whether the first token was added
  std::function<std::string(std::int32_t)> token_text = {};
};

// At most 40 lines: the tokens, in 100 columns, alpha_1 and Sink_1 with how the text began, other sinks, massive
// activation, alpha_1 by layer, of 64 tokens and more by query, and attention by distance, the heads with the strongest
// sink, and those that look elsewhere.
std::string attention_table(const AttentionSummary& summary, const SummaryLabels& labels);

// {"schema": 1, "model", "ablation", "policies", "context" (of the model; the text may be longer), "tokens": [T],
//  "token_text": [T], "begin": {"added", "why"}, "loss" (null for one token, and for a backbone without unembedding),
//  "alpha_1", "even_alpha_1", "first_key_rows": [layer with attention] (how many queries see the first token; alpha_k
//  is the mean over those that see token k), "sink_1" (percent of heads above 0.3), "alpha_star" and "even_alpha_star"
//  (null without an extra key), "secondary_sinks": [{"position", "heads", "first_layer", "last_layer", "layers"}],
//  "by_distance": [i - j] (its share of all attention), "alpha_1_by_query": [T] (mean over heads that see token 1, else
//  null; [] with a sink token and of weights that are no exponentials of scores),
//  "hidden_norm": [0 ... L][T], "value_norm": [layer][T] (of a layer without attention []), "heads": [{"layer", "head",
//  "alpha": [T], "alpha_star", "self", "previous", "row_sum", "margin_slope" (of token 1 in nats per ln i, or null)}]}
// Layers and heads count from 0, positions from 1.
std::string attention_json(const AttentionSummary& summary, const SummaryLabels& labels);

}  // namespace sink
