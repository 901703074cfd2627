// evaluation.json: the measurements of a run or model, for reports and other tools.
#pragma once

#include <functional>
#include <string>

#include "engine/data/data_source.h"
#include "eval/sink/evaluation.h"

namespace sink {

// What the measurements are of.
struct EvaluationContext {
  std::string run, task, ablation, policies, precision, device = "cpu", commit, config_toml;
  std::string machine = {};         // the processor of the training; empty: unknown
  std::string input = "text";       // text (validation sequences of the run) | random | repeated | tokens | sentence |
                                    // texts (JSONL) | begin+random | begin+repeated (after the begin token)
  std::uint64_t input_seed = 0;     // of random and repeated tokens
  std::string data_sha256 = {};     // of the training tokens; empty: unknown
  std::string initial_sha256 = {};  // of the initial parameters; empty: drawn, or unknown
  std::string positions =
      {};                 // the edit of learned positions (eval/interventions/position_intervention.h); empty: none
  std::string data = {};  // the data folder, the file of the input, or the sentence; empty: none
  std::string measured_data_sha256 = {};  // of the tokens of that data folder; empty: none, or unknown
  std::string input_sha256 = {};          // of the ids of tokens and sentences that the user gave
  std::uint64_t seed = 0;
  std::int64_t step = 0, steps = 0, tokens = 0, parameters = 0;
  std::int64_t ranks = 1;                               // that trained it to its end
  std::vector<DomainUse> domains = {};                  // of the training text; empty: unknown, or no text
  std::function<std::string(std::int32_t)> token_text;  // labels the axes of patterns
};

// JSON text with a line end, dated now.
//
// Sinks are percentages, losses and entropies nats. Where there are both, keys without `_raw` are of proxy weights.
// Positions are inside the model: a sink token comes first. Besides the fields of EvaluationContext:
//   val_loss sequences context input   the measured sequences (context: tokens of one, without a sink token); val_loss
//                                      is "nan" without targets: for one token, and a backbone without unembedding
//   input_seed                         of random and repeated input
//   data measured_data_sha256          of text: its folder, and the checksum of that folder's tokens, which is
//                                      data_sha256 where the text is that of training
//   data input_sha256                  of ids that the user gave
//   data_sha256 initial_sha256         of the training tokens; of the parameters that training started from
//                                      (model/model_checkpoint.h)
//   positions                          replace:T or swap:T, the edit of learned positions
//   machine ranks                      from training: the processor, and how many ranks, if more than one
//   epochs domains                     from training on text: passes over the data; [{name, tokens: in use for
//                                      training, share: of the tokens read, epochs}]
//   extra                              none | key (an extra key for every query) | token (a sink token)
//   sink_epsilon sink_1[_raw]          [epsilon]; sink_k[_raw]: [k] at the 0.3 of the paper; sink_k_epsilon[_raw]:
//                                      [epsilon][k]
//   first_key_rows                     [layer]: rows that see the first token, by which its column sum is divided
//                                      (of one document): all, but in layers with a shorter window. alpha_k is the sum
//                                      of a_ik over the rows that see key k, divided by their number
//   alpha_1[_raw] alpha_1_max alpha_k[_raw] alpha_1_layer_head[_raw] alpha_layer_head_k[_raw]
//   sink_star[_raw] alpha_star[_raw] alpha_star_layer_head[_raw]   the same for an extra key, with alpha of
//                                      (1 + sum_i a_i*) / (T + 1), or a sink token, the mean over the rows that see it
//   alpha_fixed alpha_fixed_over_even  of a fixed token at another position than the first, proxy
//   by_length                          {length, epsilon, alpha_k[_raw]: [T][k], sink_k[_raw]: [T][epsilon][k],
//                                      alpha_star[_raw]: [T], sink_star[_raw]: [T][epsilon]} of the first T tokens,
//                                      with --length or --epsilon
//   row_mass entropy, and _layer_head  means over rows of sum_j a_ij without the extra key, and of the entropy
//   extra_key_mass, and _layer_head    mean weight of the extra key
//   first_value_norm_ratio             |v_1| / mean over t > 1 of |v_t|, whose lengths are means over sequences and
//                                      heads; mean over layers
//   value_share, value_share_layer_head  |a_i1| |v_1| / sum_j |a_ij| |v_j|, mean over the rows i > 1 that see key 1;
//                                      j goes over the extra key, too
//   loss_position                      [position], "nan" without targets
//   hidden_kurtosis_layer_position hidden_largest_layer_position   [layer 0 ... L][position], over the elements of h_t
//   hidden_norm_layer_position         [layer 0 ... L][position]; key_norm_, value_norm_: [layer 0 ... L-1][position]
//   massive_ratio_layer                [layer 0 ... L], |h_1| / mean over t > 1 of |h_t|, mean over sequences
//   hidden_before_norm_layer_position massive_ratio_before_norm_layer   [layer 1 ... L], post-norm only
//   qk_first_key, qk_other_keys        {dot, norm_product, cosine: [layer][head]} of q_i and k_j, unscaled: means over
//                                      the rows i > 1 that see key 1; over all visible pairs with i, j > 1
//   maps                               attention patterns of a few sequences (eval/sink/attention_patterns.h), raw,
//                                      with four digits:
//     {layers, heads, extra_key: whether the first column is the extra key,
//      chosen: {sequence, layer, head} to show first, tokens: [sequence][position],
//      weights: [sequence][layer][head][query][key], null for a pattern that is not kept; a row ends with its last
//      nonzero weight}
std::string evaluation_json(const Evaluation& evaluation, const EvaluationContext& context);

}  // namespace sink
