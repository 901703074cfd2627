#include "tools/report/page_maps.h"

#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "engine/key_range.h"
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

  // f(query, key, weight) of a map, in the order of the page; key -1 is the extra key.
  template <class F>
  void each(std::size_t sequence, const Row& weights, const MapLimits& limits, F f) const {
    const auto shown = static_cast<std::int64_t>(tokens(sequence, limits));
    const std::size_t columns = maps.tokens[sequence].size() + maps.extra_key;
    for (std::int64_t i = 0; i < shown; ++i) {
      const double* row = weights.data() + static_cast<std::size_t>(i) * columns;
      if (maps.extra_key) f(i, -1, *row++);
      for (std::int64_t j = 0; j < shown; ++j)
        if (full || range.sees(i, j)) f(i, j, row[j]);
    }
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

}  // namespace

std::string halves_base64(const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    bytes += {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  }
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock ends it with a zero
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  text.resize(static_cast<std::size_t>(
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), begin, static_cast<int>(bytes.size()))));
  return text;
}

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

std::vector<DrawnWeight> drawn_map(const Run& run, const MapLimits& limits, std::int64_t sequence, std::int64_t layer,
                                   std::int64_t head) {
  const Drawing drawing(run);
  const Row& weights = drawing.maps.at(sequence, layer, head);
  if (weights.empty()) return {};
  const int token = run.evaluation->extra == Evaluation::Extra::token ? 1 : 0;
  const std::vector<std::string>& tokens = drawing.maps.tokens[static_cast<std::size_t>(sequence)];
  std::vector<DrawnWeight> out;
  drawing.each(static_cast<std::size_t>(sequence), weights, limits, [&](std::int64_t i, std::int64_t j, double a) {
    const double drawn =
        std::ldexp(static_cast<double>(static_cast<_Float16>(std::ldexp(a, -drawing.exponent))), drawing.exponent);
    if (std::isfinite(drawn))
      out.push_back({i + 1 - token, j < 0 ? 0 : j + 1 - token, tokens[static_cast<std::size_t>(i)],
                     j < 0 ? "*" : tokens[static_cast<std::size_t>(j)], drawn});
  });
  return out;
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
      Row values;
      if (!maps.weights[m].empty())
        drawing.each(s, maps.weights[m], limits,
                     [&](std::int64_t, std::int64_t, double a) { values.push_back(std::ldexp(a, -drawing.exponent)); });
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
