// How LLaMA 3.1 slows rotations down for a context longer than the first (Grattafiori et al. 2024).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numbers>
#include <vector>

namespace sink {

inline constexpr double kLlama3Slow = 1, kLlama3Fast = 4;  // turns within the first context

// Turns longer than the first context divided by the factor, those shorter than a quarter of it not, and between them
// in between; radians per position, as rotary_turns() gives them.
inline std::vector<double> llama3_inv_freq(std::vector<double> inv_freq_E, double factor, std::int64_t first_context) {
  for (double& f : inv_freq_E) {
    const double turns = static_cast<double>(first_context) * f / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - kLlama3Slow) / (kLlama3Fast - kLlama3Slow), 0.0, 1.0);
    f *= kept + (1 - kept) / factor;
  }
  return inv_freq_E;
}

}  // namespace sink
