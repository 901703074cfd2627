// Interventions: the loss and the logits of a trained model when something in it is changed during the forward pass.
// Scores show where attention goes; interventions show whether it matters
// (train/studies/results/exploratory.md).
#pragma once

#include <string>
#include <vector>

#include "eval/interventions/intervention.h"
#include "eval/interventions/token_change.h"
#include "model/language_model.h"

namespace sink {

struct InterventionResult {
  std::string name;                    // "removed 1": of token 1; "W8A8"; with per_head "removed 1 layer 0 head 3"
  std::string meaning;                 // a sentence
  std::string group;                   // the name without the place: "removed 1"
  std::int64_t layer = -1, head = -1;  // with per_head; the head is -1 with per_token,
  std::int64_t token = -1;             // and this is the token, from 1
  double before = 0;                   // loss of the unchanged model, nats per target
  double loss = 0;                     // after
  double change = 0;                   // loss - before,
  double error = 0;                    // and its standard error, paired by sequence; NaN for one sequence
  double last_change = 0;              // the change of the loss of a sequence's last target, mean over sequences
  // Means over all positions, with or without a target: sum_v p_v log(p_v / q_v), nats, p before and q after;
  double divergence = 0;
  double greedy_changed = 0;        // the share of positions whose most probable token changes (the first of equals)
  std::vector<TokenChange> tokens;  // [sequence * context + position], on request
};

struct Interventions {
  std::int64_t sequences = 0, context = 0;
  double loss = 0;  // of the unchanged model
  std::vector<InterventionResult> results;
};

// For each head of each layer: its output is zero, or its mean.
Intervention without_each_head(bool mean);
// Used without a file: for each of `tokens` (1: the first of the text) removed, redistributed and constant, in all
// layers and heads at once; and W8A8, W4A16, W4A4: matrices per output, inputs of attention and feed-forward per
// sequence.
std::vector<Intervention> default_interventions(const std::vector<std::int64_t>& tokens);
// Loss against bits: 8, 6, 5, 4, 3 for weights, inputs and both, with every grain; named "weights 4 tensor".
std::vector<Intervention> quantisations();

// Whether it is of one layer and head, or of one layer and token.
inline bool has_place(const InterventionResult& result) { return result.layer >= 0; }
// What is compared between places: the change of the loss, between tokens that of the last target.
inline double change_of(const InterventionResult& result) {
  return result.token >= 0 ? result.last_change : result.change;
}

// Throws Error (Exit::usage) for a token outside [1, T] or the source, a source of another length where no tokens are
// chosen, and a layer or head that the model does not have.
void require_places(const Intervention& intervention, const Sizes& sizes, std::int64_t T);

// One pass for each intervention, or for several heads of a layer, from the first block that it changes, of `batch`
// sequences or copies of sequences at a time; the model is unchanged afterwards. Runs on the CPU in F32 or F64; weights
// may be memory-mapped. Logits before, inputs of blocks, and hidden states with `each_token`, are kept for as many
// sequences as fit 512 MiB. Throws Error like require_places, and (Exit::usage) where no token is predicted.
Interventions intervene(LanguageModel& model, const Batch& sequences, const std::vector<Intervention>& interventions,
                        std::int64_t batch = 1, bool each_token = false);

// The loss of every sequence with the intervention, nats per target; NaN where it has none.
std::vector<double> losses_with(LanguageModel& model, const Batch& sequences, const Intervention& intervention);

}  // namespace sink
