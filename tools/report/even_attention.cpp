#include "tools/report/even_attention.h"

#include <algorithm>

#include "engine/io/parse_number.h"

namespace sink::report {

EvenAttention even_attention(const VisibleKeysOfRun& keys) {
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
  return {on_first / layers / T, keys.extra_key ? (1 + on_extra / layers) / (T + 1) : kNaN};
}

std::optional<EvenAttention> even_attention_of(const Run& run) {
  const auto count = [&](const char* name) -> std::optional<std::int64_t> {
    const auto found = run.settings.find(name);
    return found == run.settings.end() ? std::nullopt : parse_number<std::int64_t>(found->second);
  };
  const std::optional<std::int64_t> window = count("window"), prefix = count("prefix");
  const std::int64_t T = run.context > 0 ? run.context : count("context").value_or(0);
  if (!window || !prefix || T < 1 || !run.evaluation || run.evaluation->extra == "unknown") return std::nullopt;
  return even_attention({.T = T,
                         .layers = std::max<std::int64_t>(1, count("layers").value_or(1)),
                         .window = *window,
                         .prefix = *prefix,
                         .global_every = count("global_every").value_or(count("global-every").value_or(0)),
                         .extra_key = run.evaluation->extra != "none"});
}

}  // namespace sink::report
