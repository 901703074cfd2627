// Chooses the next token from logits.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace sink {

struct Sampling {
  double temperature = 0;  // divides the logits; 0: greedy, the first of equals
  double top_p = 1;        // sample from the fewest most likely tokens with at least this probability
  std::uint64_t seed = 0;

  // The n-th token, a function of logits, seed and n. The logits are on the CPU. Throws Error (Exit::diverged) if one
  // is NaN.
  std::int32_t choose(const Tensor& logits_V, std::uint64_t n) const;
};

// ln p of every token. Throws Error (Exit::diverged) for NaN.
std::vector<double> log_probabilities(const Tensor& logits_V);
// ln p of token `id`: logit_id - ln sum_v e^logit_v. Throws Error (Exit::diverged) for NaN and infinite logits.
double log_probability(const Tensor& logits_V, std::int32_t id);

}  // namespace sink
