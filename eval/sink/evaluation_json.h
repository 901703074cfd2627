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
// The measures are those of eval/sink/MEASURES.md; the object `measures` has unit and axes of each key. Besides the
// fields of EvaluationContext:
//   sequences context input            the measured sequences (context: tokens of one, without a sink token)
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
//   sink_epsilon                       the thresholds; 0.3 is the paper's
//   first_key_rows                     [layer]: rows that see the first token, by which its column sum is divided
//                                      (of one document): all, but in layers with a shorter window
//   attention_layers                   where some layers have no attention, those that have: the layers of
//   first_key_rows,
//                                      maps and all measures but those of the residual stream
//   by_length                          {length, epsilon, alpha_k[_raw]: [T][k], sink_k[_raw]: [T][epsilon][k],
//                                      alpha_star[_raw]: [T], sink_star[_raw]: [T][epsilon]} of the first T tokens,
//                                      with --length or --epsilon
//   maps                               attention patterns of a few sequences (eval/sink/attention_patterns.h), raw,
//                                      with four digits:
//     {layers, heads, extra_key: whether the first column is the extra key,
//      chosen: {sequence, layer, head} to show first, tokens: [sequence][position],
//      weights: [sequence][layer][head][query][key], null for a pattern that is not kept; a row ends with its last
//      nonzero weight}
std::string evaluation_json(const Evaluation& evaluation, const EvaluationContext& context);

}  // namespace sink
