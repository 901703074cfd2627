// Tests of the shuffle without memory.
#include "engine/data/permutation.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace sink;

TEST_CASE("permuted: a bijection for every size, odd ones and 1 included") {
  Rng rng(7, "permutation test");
  for (std::uint64_t n : {1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 65, 255, 257, 1000, 4097, 111111}) {
    for (std::uint64_t key : {0, 1, 99}) {
      std::vector<int> hits(n, 0);
      for (std::uint64_t i = 0; i < n; ++i) ++hits.at(permuted(rng, key, i, n));
      CAPTURE(n);
      CHECK(hits == std::vector<int>(n, 1));
    }
  }
}

TEST_CASE("permuted: other keys and seeds give unrelated orders") {
  constexpr std::uint64_t kN = 10007;
  Rng rng(1, "permutation test"), other(2, "permutation test");
  int same_key = 0, same_seed = 0, fixed = 0, neighbours = 0;
  for (std::uint64_t i = 0; i < kN; ++i) {
    std::uint64_t p = permuted(rng, 0, i, kN);
    same_key += p == permuted(rng, 1, i, kN);
    same_seed += p == permuted(other, 0, i, kN);
    fixed += p == i;
    neighbours += permuted(rng, 0, (i + 1) % kN, kN) == p + 1;
  }
  // Each count is about Poisson with mean 1 for random permutations.
  CHECK(same_key < 8);
  CHECK(same_seed < 8);
  CHECK(fixed < 8);
  CHECK(neighbours < 8);
}

TEST_CASE("permuted: every item goes everywhere equally often") {
  // Chi-squared over 11 places, 11000 permutations: 10 degrees of freedom, 99.99 % below 35.6.
  Rng rng(3, "permutation test");
  for (std::uint64_t item : {0, 5, 10}) {
    std::vector<int> count(11, 0);
    for (std::uint64_t key = 0; key < 11000; ++key) ++count[permuted(rng, key, item, 11)];
    double chi_squared = 0;
    for (int c : count) chi_squared += (c - 1000.0) * (c - 1000.0) / 1000.0;
    CHECK(chi_squared < 35.6);
  }
}
