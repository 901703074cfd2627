// Distances i - j in 32 buckets: 0 ... 15 one each, then ever wider ones up to 127, and one for all beyond (T5, as in
// Gu et al. 2025, appendix B).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sink {

inline constexpr std::int64_t kBuckets = 32;

// n for n < 16, else min(31, 16 + floor(16 ln(n / 16) / ln(128 / 16))).
inline std::int64_t relative_bucket(std::int64_t distance) {
  if (distance < 16) return distance;
  auto wide = static_cast<std::int64_t>(16 * std::log(static_cast<double>(distance) / 16) / std::log(8.0));
  return std::min(kBuckets - 1, 16 + wide);
}

}  // namespace sink
