// Philox and what is drawn from it.
#include "engine/rng.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

using namespace sink;

namespace {

constexpr std::uint64_t kDraws = 100000;

}  // namespace

TEST_CASE("philox: the known answers of Random123") {
  using Words = std::array<std::uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t kOnes = 0xffffffff;
  CHECK(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("rng: a draw is a function of seed, stream, index and lane") {
  Rng rng(1, "data");
  CHECK(rng.words(5) == Rng(1, "data").words(5));
  std::set<std::array<std::uint32_t, 4>> different;
  for (std::uint64_t seed : {0, 1, 2})
    for (const char* stream : {"data", "init", "atad", ""})
      for (std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32, std::uint64_t{1} << 63})
        for (std::uint32_t lane : {0u, 1u}) different.insert(Rng(seed, stream).words(i, lane));
  CHECK(different.size() == 3 * 4 * 4 * 2);
}

TEST_CASE("rng: uniform draws lie in [0, 1) with mean 1/2 and variance 1/12") {
  Rng rng(0, "uniform");
  double sum = 0, squares = 0;
  bool inside = true;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    double u = rng.uniform(i);
    inside = inside && 0 <= u && u < 1;
    sum += u;
    squares += (u - 0.5) * (u - 0.5);
  }
  CHECK(inside);
  CHECK(std::abs(sum / kDraws - 0.5) < 4e-3);  // four standard deviations
  CHECK(std::abs(squares / kDraws - 1.0 / 12) < 1e-3);
}

TEST_CASE("rng: normal draws have the moments 0, 1, 0, 3 and the right tails") {
  Rng rng(0, "normal");
  double moment[5] = {};
  std::uint64_t beyond_two = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    double x = rng.normal(i);
    for (int power = 1; power <= 4; ++power) moment[power] += std::pow(x, power) / kDraws;
    beyond_two += std::abs(x) > 2;
  }
  // Bounds of about four standard deviations: sqrt(var(x^k) / n) is sqrt(1, 2, 15, 96) / 316.
  CHECK(std::abs(moment[1]) < 0.013);
  CHECK(std::abs(moment[2] - 1) < 0.018);
  CHECK(std::abs(moment[3]) < 0.05);
  CHECK(std::abs(moment[4] - 3) < 0.13);
  CHECK(std::abs(static_cast<double>(beyond_two) / kDraws - 0.0455003) < 0.003);
}

TEST_CASE("rng: below(n) hits 0 to n-1 evenly and nothing else") {
  Rng rng(0, "below");
  std::vector<double> count(10);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    std::uint64_t draw = rng.below(i, 10);
    REQUIRE(draw < 10);
    ++count[draw];
  }
  double chi_squared = 0;
  for (double c : count) chi_squared += (c - kDraws / 10.0) * (c - kDraws / 10.0) / (kDraws / 10.0);
  CHECK(chi_squared < 27.9);  // 99.9 % of nine degrees of freedom
  for (std::uint64_t i = 0; i < 100; ++i) {
    CHECK(rng.below(i, 1) == 0);
    CHECK(rng.below(i, std::uint64_t{1} << 63) < std::uint64_t{1} << 63);
  }
}

TEST_CASE("rng: neighbouring streams, seeds and lanes are uncorrelated") {
  Rng a(0, "a"), b(0, "b"), other_seed(1, "a");
  double streams = 0, seeds = 0, lanes = 0, lag = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    double x = a.normal(i);
    streams += x * b.normal(i) / kDraws;
    seeds += x * other_seed.normal(i) / kDraws;
    lanes += x * a.normal(i, 1) / kDraws;
    lag += x * a.normal(i + 1) / kDraws;
  }
  for (double correlation : {streams, seeds, lanes, lag}) CHECK(std::abs(correlation) < 0.013);
}
