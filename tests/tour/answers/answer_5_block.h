// An answer to exercise 5 of the tour.
#pragma once

#include "model/sizes.h"

namespace sink::tour {

inline std::int64_t parameters_of(const Sizes& sizes) {
  std::int64_t C = sizes.width, F = sizes.feed_forward, V = sizes.vocabulary;
  std::int64_t H = sizes.heads, G = sizes.key_heads(), D = sizes.width_of_head();
  std::int64_t attention = (H + 2 * G) * D * C + C * H * D, feed_forward = 2 * F * C + C * F, norms = 2 * C;
  return V * C + sizes.layers * (attention + feed_forward + norms) + C + V * C;
}

}  // namespace sink::tour
