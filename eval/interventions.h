// Interventions: what the loss of a trained model becomes when something is taken from it while it runs. A score says
// where attention goes; this says whether it matters. (Of which first-token attention is a sink in the sense that
// counts: RESULTS.md.)
#pragma once

#include <string>
#include <vector>

#include "model/language_model.h"

namespace sink {

// On every layer and head at once, for queries i > k; a_ik: the weight of key k, v_k: its value.
enum class KeyIntervention {
  removed,        // o_i - a_ik v_k: what the key gives is left out, the other weights stay as they act
  redistributed,  // (o_i - a_ik v_k) Z / (Z - a_ik), Z = the row's weights in all: as if the key were not there, for
                  // operations that divide by their sum; rows that have nothing else stay without
  constant,       // o_i - (a_ik - mean_i a_ik) v_k: every query gets the same of it
};

// Rounding to `bits` bits, symmetric, by the largest absolute number: the block's matrices by output row, what
// attention and feed-forward read by sequence. 0: left as it is.
struct Quantisation {
  int weight_bits = 0, input_bits = 0;
};

struct InterventionResult {
  std::string name;     // "removed 1": of token 1; "W8A8"
  std::string meaning;  // a sentence
  double loss = 0;      // nats a target
  double change = 0;    // against the model as it is: mean over sequences,
  double error = 0;     // and its standard error (the same sequences both times)
};

struct Interventions {
  std::int64_t sequences = 0, context = 0;
  double loss = 0;  // of the model as it is
  std::vector<InterventionResult> results;
};

// All of them: keys `tokens` (1: the first of the text), each in three ways, and W8A8, W4A16, W4A4. Runs the model one
// sequence at a time, and leaves it as it was. Tensors on the CPU, F32 or F64. Throws Error (Exit::usage) for a token
// outside [1, T].
Interventions intervene(LanguageModel& model, const Batch& sequences, const std::vector<std::int64_t>& tokens);

// The losses of every sequence with one of them.
std::vector<double> losses_with(LanguageModel& model, const Batch& sequences, KeyIntervention kind, std::int64_t token);
std::vector<double> losses_with(LanguageModel& model, const Batch& sequences, Quantisation quantisation);

// x rounded to a grid of 2^bits - 1 steps around zero that ends at +-`largest`; bits >= 2. 0 where largest is 0.
double quantised(double x, double largest, int bits);

}  // namespace sink
