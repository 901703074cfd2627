#include "eval/sink/even_attention.h"

#include <algorithm>
#include <limits>

namespace sink {

namespace {

// The weight on key k and on an extra key, summed over blocks and rows.
struct Sums {
  double on_key = 0, on_extra = 0;
};
Sums sums_of(const VisibleKeys& keys, std::int64_t k) {
  Sums sums;
  for (std::int64_t layer = 0; layer < keys.layers; ++layer) {
    const bool is_global = keys.window == 0 || (keys.global_every > 0 && (layer + 1) % keys.global_every == 0);
    for (std::int64_t i = 1; i <= keys.T; ++i) {
      const std::int64_t first = is_global ? 1 : std::max<std::int64_t>(1, i - keys.window + 1);
      const std::int64_t own_keys = std::max<std::int64_t>(0, i - std::max(first, keys.prefix + 1) + 1);
      const double visible = static_cast<double>(std::min(keys.prefix, keys.T) + own_keys + keys.extra_key);
      if ((first <= k && k <= i) || k <= keys.prefix) sums.on_key += 1 / visible;
      sums.on_extra += 1 / visible;
    }
  }
  return sums;
}

}  // namespace

double even_alpha(const VisibleKeys& keys, std::int64_t k) {
  return sums_of(keys, k).on_key / static_cast<double>(keys.layers) / static_cast<double>(keys.T - k + 1);
}

EvenAttention even_attention(const VisibleKeys& keys) {
  const Sums sums = sums_of(keys, 1);
  const auto layers = static_cast<double>(keys.layers), T = static_cast<double>(keys.T);
  return {sums.on_key / layers / T,
          keys.extra_key ? (1 + sums.on_extra / layers) / (T + 1) : std::numeric_limits<double>::quiet_NaN()};
}

VisibleKeys visible_keys(const Sizes& sizes, std::int64_t T, bool extra_key) {
  return {.T = T,
          .layers = sizes.layers,
          .window = sizes.window,
          .prefix = sizes.prefix,
          .global_every = sizes.global_every,
          .extra_key = extra_key};
}

EvenAttention even_attention(const Sizes& sizes, std::int64_t T, bool extra_key) {
  return even_attention(visible_keys(sizes, T, extra_key));
}

}  // namespace sink
