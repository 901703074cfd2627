// How LLaMA 3.1 (Grattafiori et al. 2024) and YaRN (Peng et al. 2023) scale rotary frequencies for a context longer
// than the first. Frequencies are in radians per position, as from rotary_inv_freq(2 E, base).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace sink {

inline constexpr double kLlama3Slow = 1, kLlama3Fast = 4;  // turns within the first context

// Divides by `factor` the frequencies of pairs with at most 1 turn within the first context, keeps those with at least
// 4 turns, and interpolates linearly in turns.
inline std::vector<double> llama3_inv_freq(std::vector<double> inv_freq_E, double factor, std::int64_t first_context) {
  for (double& f : inv_freq_E) {
    const double turns = static_cast<double>(first_context) * f / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - kLlama3Slow) / (kLlama3Fast - kLlama3Slow), 0.0, 1.0);
    f *= kept + (1 - kept) / factor;
  }
  return inv_freq_E;
}

inline constexpr double kYarnSlow = 1, kYarnFast = 32;  // turns within the first context

// Divides by `factor` the frequencies of pairs with at most 1 turn, keeps those with at least 32 turns, and
// interpolates linearly in the index of the pair. Like in gpt-oss, the range of pairs is not rounded to integers.
inline std::vector<double> yarn_inv_freq(std::vector<double> inv_freq_E, double base, double factor,
                                         std::int64_t first_context) {
  const auto E = static_cast<double>(inv_freq_E.size());
  // The real index e of the pair with this many turns: first_context base^(-e/E) / (2 pi) = turns.
  auto pair_of = [&](double turns) {
    return E * std::log(static_cast<double>(first_context) / (2 * std::numbers::pi * turns)) / std::log(base);
  };
  const double first = std::max(pair_of(kYarnFast), 0.0), last = std::min(pair_of(kYarnSlow), 2 * E - 1);
  for (std::size_t e = 0; e < inv_freq_E.size(); ++e) {
    const double width = last == first ? 0.001 : last - first;
    const double slowed = std::clamp((static_cast<double>(e) - first) / width, 0.0, 1.0);
    inv_freq_E[e] *= 1 - slowed + slowed / factor;
  }
  return inv_freq_E;
}

// YaRN multiplies queries and keys by 0.1 ln(factor) + 1, so that scores grow with the context.
inline double yarn_length(double factor) { return factor > 1 ? 0.1 * std::log(factor) + 1 : 1; }

}  // namespace sink
