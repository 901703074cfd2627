// One model on every kind of input, as the study's section 3 has it: natural, random and repeated tokens.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "eval/sink/evaluation.h"

namespace sink {

struct NamedInput {
  std::string name;
  Batch tokens;
};

// The sequences of `natural` of each of its domains, "natural/DOMAIN" in the order in which they come first; none where
// all have one. domains: [N].
std::vector<NamedInput> inputs_by_domain(const Batch& natural, const std::vector<std::string>& domains);

// Every sequence with `first` as its first token and all others as they are.
Batch with_first_token(const Batch& sequences, std::int32_t first);

// What was measured of each, a line an input: Sink_1 and Sink_2 (proxy; the raw Sink_1 beside), alpha_1, what the first
// value gives, and how long the first position's vectors are beside the others'.
std::string inputs_table(const std::vector<std::pair<std::string, Evaluation>>& measured);

}  // namespace sink
