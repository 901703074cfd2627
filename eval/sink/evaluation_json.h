// evaluation.json: the final measurements of a run, as the report and other tools read them.
#pragma once

#include <functional>
#include <string>

#include "engine/data/data_source.h"
#include "eval/sink/evaluation.h"

namespace sink {

// What stands beside the numbers so that nobody has to guess what they are of.
struct EvaluationContext {
  std::string run, task, ablation, policies, precision, device = "cpu", commit, config_toml;
  std::string machine = {};      // the processor it was trained on; empty: not known
  std::string input = "text";    // text: the run's validation sequences | random | repeated | tokens | sentence | texts
                                 // (of JSONL) | begin+random | begin+repeated (the begin token first)
  std::uint64_t input_seed = 0;  // of random and repeated tokens
  std::string data_sha256 = {};  // of the tokens that the run was trained on; empty: not known
  std::string initial_sha256 = {};  // of the parameters that training began with; empty: drawn, or not known
  std::string positions = {};       // an edit of learned positions (eval/interventions/position_edit.h); empty: none
  std::string data = {};            // the folder that text came from, the file of tokens, or the sentence; empty: none
  std::string input_sha256 = {};    // of the ids of given tokens and sentences: what tells one from another
  std::uint64_t seed = 0;
  std::int64_t step = 0, steps = 0, tokens = 0, parameters = 0;
  std::vector<DomainUse> domains = {};  // of the text that the run was trained on; empty: not known, or no text
  std::function<std::string(std::int32_t)> token_text;  // for the axes of the maps
};

// JSON text with a line end. The date is the clock's.
//
// Sinks are percentages, losses and entropies nats; names without `_raw` are of proxy weights where there are both.
// "position" is inside the model: a sink token, where there is one, is the first. Beside what names the run:
//   val_loss sequences context input   of what was measured (context: tokens of a sequence, a sink token not counted);
//                                      input_seed of random and repeated input, data where text was read or
//                                      what was given, input_sha256 of given ids;
//                                      data_sha256: of the tokens of training; initial_sha256: of the parameters of
//                                      the checkpoint that training started from (model/model_checkpoint.h)
//   positions                          replace:T or swap:T, of learned positions, where they were edited
//   machine                            of a run, as training writes it: the processor
//   epochs domains                     of a run on text, as training writes it: passes over its training data; and
//                                      [{name, tokens: of training in use, share: of what was read, epochs}]
//   extra                              none | key (every query sees one key more) | token (a sink token)
//   sink_epsilon sink_1[_raw]          [epsilon]; sink_k[_raw]: [k] at the study's 0.3; sink_k_epsilon[_raw]:
//                                      [epsilon][k]
//   alpha_1[_raw] alpha_1_max alpha_k[_raw] alpha_1_layer_head[_raw] alpha_layer_head_k[_raw]
//   sink_star[_raw] alpha_star[_raw] alpha_star_layer_head[_raw]   the same of the extra key or sink token, if any
//   by_length                          {length, epsilon, and by them alpha_k[_raw]: [T][k], sink_k[_raw]:
//   [T][epsilon][k],
//                                      alpha_star[_raw]: [T], sink_star[_raw]: [T][epsilon]} of the first T tokens,
//                                      where --length or --epsilon asked for it
//   row_mass entropy, with _layer_head means over rows; extra_key_mass, extra_key_mass_layer_head with an extra key,
//   whose part
//                                      of a row is not in row_mass
//   first_value_norm_ratio             |v_1| / mean |v_t|, mean over layers
//   value_share, value_share_layer_head  |a_i1| |v_1| against the sum of all |a_ij| |v_j|
//   loss_position                      [position], "nan" where nothing is predicted
//   hidden_kurtosis_layer_position hidden_largest_layer_position   [layer 0 ... L][position], of the numbers of h_t
//   hidden_norm_layer_position         [layer 0 ... L][position]; key_norm_, value_norm_: [layer 0 ... L-1][position]
//   massive_ratio_layer                [layer 0 ... L], |h_1| / mean |h_t|
//   hidden_before_norm_layer_position massive_ratio_before_norm_layer   [layer 1 ... L], post-norm only
//   qk_first_key, qk_other_keys        {dot, norm_product, cosine: [layer][head]}, unscaled
//   maps                               raw weights of the first few sequences (eval/sink/evaluation_maps.h), four
//   digits:
//     {layers, heads, extra_key: whether the first column is the extra key's,
//      chosen: {sequence, layer, head} to show first, tokens: [sequence][position],
//      weights: [sequence][layer][head][query][key], null for a map that was not kept; a row ends with its last weight
//      that is not zero}
std::string evaluation_json(const Evaluation& evaluation, const EvaluationContext& context);

}  // namespace sink
