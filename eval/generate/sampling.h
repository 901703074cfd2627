// How the next token is chosen from logits.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace sink {

struct Sampling {
  double temperature = 0;  // logits are divided by it; 0: the token with the largest, the first of equals
  double top_p = 1;        // of the most likely tokens, as few as have this much of the probability together
  std::uint64_t seed = 0;

  // The n-th token: a function of logits, seed and n. logits: V real numbers on the CPU. Throws Error (Exit::diverged)
  // where one of them is NaN.
  std::int32_t choose(const Tensor& logits_V, std::uint64_t n) const;
};

// ln p of token `id`: logit - ln sum_v e^logit_v.
double log_probability(const Tensor& logits_V, std::int32_t id);

}  // namespace sink
