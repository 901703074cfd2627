#include "eval/sink/even_attention.h"

#include <algorithm>
#include <limits>

namespace sink {

EvenAttention even_attention(const VisibleKeys& keys) {
  double on_first = 0, on_extra = 0;  // summed over blocks and rows
  for (std::int64_t layer = 0; layer < keys.layers; ++layer) {
    const bool is_global = keys.window == 0 || (keys.global_every > 0 && (layer + 1) % keys.global_every == 0);
    for (std::int64_t i = 1; i <= keys.T; ++i) {
      const std::int64_t first = is_global ? 1 : std::max<std::int64_t>(1, i - keys.window + 1);
      const std::int64_t own_keys = std::max<std::int64_t>(0, i - std::max(first, keys.prefix + 1) + 1);
      const double visible = static_cast<double>(std::min(keys.prefix, keys.T) + own_keys + keys.extra_key);
      if (first == 1 || keys.prefix > 0) on_first += 1 / visible;
      on_extra += 1 / visible;
    }
  }
  const auto layers = static_cast<double>(keys.layers), T = static_cast<double>(keys.T);
  return {on_first / layers / T,
          keys.extra_key ? (1 + on_extra / layers) / (T + 1) : std::numeric_limits<double>::quiet_NaN()};
}

EvenAttention even_attention(const Sizes& sizes, std::int64_t T, bool extra_key) {
  return even_attention({.T = T,
                         .layers = sizes.layers,
                         .window = sizes.window,
                         .prefix = sizes.prefix,
                         .global_every = sizes.global_every,
                         .extra_key = extra_key});
}

}  // namespace sink
