// Sequences with their targets that are not validation text: random and repeated tokens, on which the paper measures
// sinks too (Gu et al. 2025, section 3.3 and appendix C.1), and sequences that a user gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/batch.h"

namespace sink {

// Every token uniform over the vocabulary, a function of (seed, sequence, position) only. The first `ignored` targets
// of every sequence are -1.
Batch random_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                    std::int64_t ignored = 0);
// One uniform token for each sequence, repeated.
Batch repeated_tokens(std::int64_t vocabulary, std::int64_t N, std::int64_t T, std::uint64_t seed,
                      std::int64_t ignored = 0);

struct NamedInput {
  std::string name;
  Batch tokens;
};

// The sequences of `natural` split by domain, as "natural/DOMAIN" in order of first appearance; none if all have the
// same domain. domains: [N].
std::vector<NamedInput> inputs_by_domain(const Batch& natural, const std::vector<std::string>& domains);

// Every sequence with its first token replaced by `first`.
Batch with_first_token(const Batch& sequences, std::int32_t first);

// The same tokens without a target: nothing is predicted.
Batch without_targets(const Batch& sequences);

// tokens_NT with the next tokens as targets. The last position has no target, nor do the first prefix - 1, whose next
// token is visible. Throws Error (Exit::bad_input) for fewer than `min_tokens` tokens, and for several tokens without a
// target. One token has none.
Batch given_tokens(const Tensor& tokens_NT, std::int64_t vocabulary, std::int64_t prefix, std::int64_t min_tokens = 2);

}  // namespace sink
