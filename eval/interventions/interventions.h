// Interventions: what the loss and the logits of a trained model become when something is changed in it while it runs.
// A score says where attention goes; this says whether it matters. (Of which first-token attention is a sink in the
// sense that counts: RESULTS.md.)
#pragma once

#include <string>
#include <vector>

#include "eval/interventions/intervention.h"
#include "model/language_model.h"

namespace sink {

struct InterventionResult {
  std::string name;                    // "removed 1": of token 1; "W8A8"; with per_head "removed 1 layer 0 head 3"
  std::string meaning;                 // a sentence
  std::int64_t layer = -1, head = -1;  // of per_head
  double before = 0;                   // the model as it is, nats a target
  double loss = 0;                     // after
  double change = 0;                   // mean over sequences,
  double error = 0;                    // and its standard error (the same sequences both times); NaN of one sequence
  // Means over all positions, with a target or not: sum over tokens v of p_v log(p_v / q_v), nats, p before and q
  // after;
  double divergence = 0;
  double greedy_changed = 0;  // the share whose most probable token is another (the first of equals)
};

struct Interventions {
  std::int64_t sequences = 0, context = 0;
  double loss = 0;  // of the model as it is
  std::vector<InterventionResult> results;
};

// Those without a file: keys `tokens` (1: the first of the text), removed, redistributed and constant, on all layers
// and heads at once; and W8A8, W4A16, W4A4: matrices by output, and what attention and feed-forward read by sequence.
std::vector<Intervention> default_interventions(const std::vector<std::int64_t>& tokens);
// Loss against bits: 8, 6, 5, 4, 3 of weights, of inputs, of both, each with every scale that they can have; named
// "weights 4 tensor".
std::vector<Intervention> quantisations();

// One pass of the model for each, `batch` sequences at a time, and leaves the model as it was. Tensors on the CPU, F32
// or F64; weights may lie in a file. Logits before are kept for as many sequences as half a gibibyte holds. Throws
// Error (Exit::usage) for a token outside [1, T], and a layer or head that the model does not have.
Interventions intervene(LanguageModel& model, const Batch& sequences, const std::vector<Intervention>& interventions,
                        std::int64_t batch = 1);

// The losses of every sequence with one of them.
std::vector<double> losses_with(LanguageModel& model, const Batch& sequences, const Intervention& intervention);

}  // namespace sink
