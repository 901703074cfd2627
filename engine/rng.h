// Counter-based random number generator (Philox 4x32-10, Salmon et al. 2011). Draw number i of a named stream is a pure
// function of (seed, stream, i), so nothing has to be saved or replayed, and all ablations get the same draws.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sink {

// Ten rounds on a 128-bit counter under a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

class Rng {
 public:
  Rng(std::uint64_t seed, std::string_view stream);

  // Four independent words; draws of different (i, lane) never overlap.
  std::array<std::uint32_t, 4> words(std::uint64_t i, std::uint32_t lane = 0) const;
  std::uint64_t bits(std::uint64_t i, std::uint32_t lane = 0) const;
  double uniform(std::uint64_t i, std::uint32_t lane = 0) const;  // [0, 1), 53 bits
  double normal(std::uint64_t i, std::uint32_t lane = 0) const;   // mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t i, std::uint64_t n, std::uint32_t lane = 0) const;  // {0, ..., n-1}

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t stream_;
};

}  // namespace sink
