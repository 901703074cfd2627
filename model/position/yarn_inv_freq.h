// How YaRN slows rotations down for a context longer than the first (Peng et al. 2023), as gpt-oss has it: its range
// of pairs is not rounded to whole ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace sink {

inline constexpr double kYarnSlow = 1, kYarnFast = 32;  // turns within the first context

// Of E pairs, those that turn more than 32 times within the first context stay, those that turn less than once are
// divided by the factor, and between them a part that grows evenly with the pair's number is; radians per position, as
// rotary_turns(2 E, base) gives them.
inline std::vector<double> yarn_inv_freq(std::vector<double> inv_freq_E, double base, double factor,
                                         std::int64_t first_context) {
  const auto E = static_cast<double>(inv_freq_E.size());
  // The pair, not a whole number, that makes so many turns: first_context base^(-e/E) / (2 pi) = turns.
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

// What queries and keys are multiplied with beside, so that scores grow with the context: 0.1 ln(factor) + 1.
inline double yarn_length(double factor) { return factor > 1 ? 0.1 * std::log(factor) + 1 : 1; }

}  // namespace sink
