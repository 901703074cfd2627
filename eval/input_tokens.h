// Sequences that are not the run's own text, with their targets: random and repeated tokens, on which sinks are
// measured too (Gu et al. 2025, section 3.3 and appendix C.1), and given ones.
#pragma once

#include <cstdint>

#include "engine/data/batch.h"

namespace sink {

// Every token uniform over the vocabulary: a function of (seed, sequence, position), whatever N and T are. The first
// `ignored` targets of every sequence are -1.
Batch random_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                    std::int64_t ignored = 0);
// One token, uniform over the vocabulary, repeated: another in every sequence.
Batch repeated_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                      std::int64_t ignored = 0);

// tokens_NT and in each sequence the tokens that follow; the last position has no target, and neither have the first
// prefix - 1, whose next token is seen by all. Throws Error (Exit::bad_input) where no target is left.
Batch given_tokens(const Tensor& tokens_NT, std::int64_t vocabulary, std::int64_t prefix);

}  // namespace sink
