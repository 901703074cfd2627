#include "tools/report/page_maps.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/key_range.h"
#include "eval/attention/view_queries_keys.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

using nlohmann::json;
constexpr std::size_t kMinTokens = 32;

// The maps of a run and how the page draws them.
struct Drawing {
  const AttentionMaps& maps;
  KeyRange range;
  bool full = false;  // some weight is outside of the mask of the settings: all keys are drawn
  int exponent = 0;   // weights are divided by 2^exponent, so that the largest is near the top of the range of 16 bits

  explicit Drawing(const Run& run)
      : maps(*run.evaluation->maps), range{whole_setting(run, "prefix"), whole_setting(run, "window")} {
    double largest = 0;
    const auto per_sequence = static_cast<std::size_t>(maps.layers * maps.heads);
    for (std::size_t m = 0; m < maps.weights.size(); ++m) {
      const auto columns = static_cast<std::int64_t>(maps.tokens[m / per_sequence].size() + maps.extra_key);
      for (std::int64_t at = 0; at < std::ssize(maps.weights[m]); ++at) {
        const double a = maps.weights[m][static_cast<std::size_t>(at)];
        const std::int64_t key = at % columns - maps.extra_key;
        if (std::isfinite(a)) largest = std::max(largest, std::abs(a));
        full = full || (a != 0 && key >= 0 && !range.sees(at / columns, key));
      }
    }
    if (largest > 0) exponent = static_cast<int>(std::ceil(std::log2(largest))) - 15;
  }

  // The tokens of a sequence that are drawn. Rows are complete: every row sees the prefix.
  std::size_t tokens(std::size_t sequence, const MapLimits& limits) const {
    return std::min(std::max(limits.tokens, static_cast<std::size_t>(range.prefix)), maps.tokens[sequence].size());
  }

  // The weights of a map in the order of the page, divided by 2^exponent; none if it was not stored.
  Row drawn(std::size_t sequence, const Row& weights, const MapLimits& limits) const {
    const auto shown = static_cast<std::int64_t>(weights.empty() ? 0 : tokens(sequence, limits));
    const std::size_t columns = maps.tokens[sequence].size() + maps.extra_key;
    Row values;
    const auto add = [&](double a) { values.push_back(std::ldexp(a, -exponent)); };
    for (std::int64_t i = 0; i < shown; ++i) {
      const double* row = weights.data() + static_cast<std::size_t>(i) * columns;
      if (maps.extra_key) add(*row++);
      for (std::int64_t j = 0; j < shown; ++j)
        if (full || range.sees(i, j)) add(row[j]);
    }
    return values;
  }
};

std::size_t text_size(const Run& run, const MapLimits& limits) {
  if (!run.evaluation || !run.evaluation->maps) return 0;
  const AttentionMaps& maps = *run.evaluation->maps;
  const auto per_sequence = static_cast<std::size_t>(maps.layers * maps.heads);
  std::size_t bytes = 0;
  for (std::size_t m = 0; m < std::min(maps.weights.size(), limits.sequences * per_sequence); ++m) {
    const std::size_t n = std::min(limits.tokens, maps.tokens[m / per_sequence].size());
    if (!maps.weights[m].empty()) bytes += (n * (n + 1) / 2 + n * maps.extra_key) * 8 / 3 + 8;
  }
  return bytes;
}

std::string halves_base64(const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    bytes += {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  }
  return base64(bytes);
}

}  // namespace

MapLimits map_limits(const std::vector<Run>& runs, std::size_t bytes) {
  const auto fits = [&](const MapLimits& limits) {
    std::size_t sum = 0;
    for (const Run& run : runs) sum += text_size(run, limits);
    return sum <= bytes;
  };
  MapLimits limits;
  while (!fits(limits)) {
    if (limits.tokens > 64 || (limits.sequences == 1 && limits.tokens > kMinTokens))
      limits.tokens /= 2;
    else if (limits.sequences > 1)
      --limits.sequences;
    else
      break;
  }
  return limits;
}

json maps_json(const Run& run, const MapLimits& limits) {
  const Drawing drawing(run);
  const AttentionMaps& maps = drawing.maps;
  const auto per_sequence = static_cast<std::size_t>(maps.layers * maps.heads);
  const std::size_t sequences = std::min(limits.sequences, maps.tokens.size());
  json tokens = json::array(), texts = json::array();
  std::size_t longest = 0;
  for (std::size_t s = 0; s < sequences; ++s) {
    const auto begin = maps.tokens[s].begin();
    longest = std::max(longest, maps.tokens[s].size());
    tokens.push_back(std::vector<std::string>(begin, begin + static_cast<std::ptrdiff_t>(drawing.tokens(s, limits))));
    for (std::size_t m = s * per_sequence; m < (s + 1) * per_sequence; ++m) {
      const Row values = drawing.drawn(s, maps.weights[m], limits);
      texts.push_back(values.empty() ? json() : json(halves_base64(values)));
    }
  }
  const bool kept = static_cast<std::size_t>(maps.chosen.sequence) < sequences;
  return {{"layers", maps.layers},
          {"heads", maps.heads},
          {"extra_key", maps.extra_key},
          {"sink_token", run.evaluation->extra == Evaluation::Extra::token},
          {"window", drawing.range.window},
          {"prefix", drawing.range.prefix},
          {"full", drawing.full},
          {"exponent", drawing.exponent},
          {"of", longest},
          {"tokens", tokens},
          {"chosen",
           {{"sequence", kept ? maps.chosen.sequence : 0}, {"layer", maps.chosen.layer}, {"head", maps.chosen.head}}},
          {"weights", texts}};
}

}  // namespace sink::report
