// A random permutation of {0, ..., n-1} that is computed element by element, without a table.
#pragma once

#include <cstdint>

#include "engine/rng.h"

namespace sink {

// The image of i in permutation number `key` of {0, ..., n-1}, n >= 1.
//
// A Feistel network, which is a bijection for any round function, permutes [0, 2^(2h)) for the smallest such size >= n;
// a result outside [0, n) is permuted again ("cycle walking"), at most four times on average.
inline std::uint64_t permuted(const Rng& rng, std::uint64_t key, std::uint64_t i, std::uint64_t n) {
  int half = 1;
  while (half < 32 && (std::uint64_t{1} << (2 * half)) < n) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = i >> half, right = i & mask;
    for (std::uint32_t round = 0; round < 4; ++round) {
      std::uint64_t mixed = rng.words(key, static_cast<std::uint32_t>(right) ^ round << 30)[round];
      std::uint64_t next = left ^ (mixed & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= n);
  return i;
}

}  // namespace sink
