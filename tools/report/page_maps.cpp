// Cuts maps to what a query sees and to what fits, and writes their weights as short text.
#include "tools/report/page_maps.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "engine/key_range.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

using nlohmann::json;
constexpr std::size_t kFewestTokens = 32;

// `value` in 16 bits.
std::uint16_t half(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return 0x7e00;
  const double size = std::abs(value);
  if (size >= 65520) return sign | 0x7c00;  // rounds to infinity
  int exponent = 0;
  std::frexp(size, &exponent);                    // size < 2^exponent
  const int unit = std::max(exponent, -13) - 11;  // of the last bit: 11 bits per number, 2^-24 the smallest
  const auto units = std::nearbyint(std::ldexp(size, -unit));  // at most 2^11, which carries into the exponent
  return sign | static_cast<std::uint16_t>(units + 1024 * (std::max(exponent, -13) + 13));
}

// The number that these 16 bits are.
double of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, part = bits & 1023;
  if (exponent == 31) return kNaN;
  const double size = exponent == 0 ? std::ldexp(part, -24) : std::ldexp(1024 + part, exponent - 25);
  return bits & 0x8000 ? -size : size;
}

// A power of two that puts the largest weight near the top of what 16 bits can say: small ones stay exact enough.
int exponent_of(const AttentionMaps& maps) {
  double largest = 0;
  for (const Row& weights : maps.weights)
    for (const double a : weights)
      if (std::isfinite(a)) largest = std::max(largest, std::abs(a));
  return largest > 0 ? static_cast<int>(std::ceil(std::log2(largest))) - 15 : 0;
}

// How many tokens of a sequence are shown. Rows are whole: every row sees the prefix.
std::size_t shown_tokens(const AttentionMaps& maps, std::size_t sequence, const MapLimits& limits,
                         const KeyRange& range) {
  return std::min(std::max(limits.tokens, static_cast<std::size_t>(range.prefix)), maps.tokens[sequence].size());
}

// The weights of a map that the page shows, in the order it expects.
std::vector<double> visible(const Row& weights, std::size_t tokens, std::size_t shown, bool extra_key,
                            const KeyRange& range, bool full) {
  std::vector<double> out;
  const std::size_t columns = tokens + extra_key;
  for (std::size_t i = 0; i < shown; ++i) {
    const double* row = weights.data() + i * columns;
    if (extra_key) out.push_back(*row++);
    for (std::size_t j = 0; j < shown; ++j)
      if (full || range.sees(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))) out.push_back(row[j]);
  }
  return out;
}

// Whether some weight stands where the settings say that none can.
bool leaves(const AttentionMaps& maps, const KeyRange& range) {
  const auto per_sequence = static_cast<std::size_t>(maps.layers * maps.heads);
  for (std::size_t m = 0; m < maps.weights.size(); ++m) {
    const std::size_t n = maps.tokens[m / per_sequence].size(), columns = n + maps.extra_key;
    if (maps.weights[m].empty()) continue;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (maps.weights[m][i * columns + maps.extra_key + j] != 0 &&
            !range.sees(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)))
          return true;
  }
  return false;
}

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
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes, out;
  for (const double value : values) {
    const std::uint16_t bits = half(value);
    bytes += {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  }
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < n ? static_cast<unsigned char>(bytes[at + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

MapLimits map_limits(const std::vector<Run>& runs, std::size_t bytes) {
  const auto fits = [&](const MapLimits& limits) {
    std::size_t sum = 0;
    for (const Run& run : runs) sum += text_size(run, limits);
    return sum <= bytes;
  };
  MapLimits limits;
  while (!fits(limits)) {
    if (limits.tokens > 64 || (limits.sequences == 1 && limits.tokens > kFewestTokens))
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
  const AttentionMaps& maps = *run.evaluation->maps;
  const Row& weights = maps.of(sequence, layer, head);
  if (weights.empty()) return {};
  const KeyRange range{whole_setting(run, "prefix"), whole_setting(run, "window")};
  const bool full = leaves(maps, range);
  const int exponent = exponent_of(maps), token = run.evaluation->extra == "token" ? 1 : 0;
  const std::vector<std::string>& tokens = maps.tokens[static_cast<std::size_t>(sequence)];
  const std::size_t shown = shown_tokens(maps, static_cast<std::size_t>(sequence), limits, range);
  std::vector<DrawnWeight> out;
  const auto add = [&](std::size_t i, std::int64_t key, const std::string& key_token, double weight) {
    const double drawn = std::ldexp(of_half(half(std::ldexp(weight, -exponent))), exponent);
    if (std::isfinite(drawn))
      out.push_back({static_cast<std::int64_t>(i) + 1 - token, key, tokens[i], key_token, drawn});
  };
  for (std::size_t i = 0; i < shown; ++i) {
    const double* row = weights.data() + i * (tokens.size() + maps.extra_key);
    if (maps.extra_key) add(i, 0, "*", *row++);
    for (std::size_t j = 0; j < shown; ++j)
      if (full || range.sees(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)))
        add(i, static_cast<std::int64_t>(j) + 1 - token, tokens[j], row[j]);
  }
  return out;
}

json maps_json(const Run& run, const MapLimits& limits) {
  const AttentionMaps& maps = *run.evaluation->maps;
  const KeyRange range{whole_setting(run, "prefix"), whole_setting(run, "window")};
  const bool full = leaves(maps, range);
  const int exponent = exponent_of(maps);
  const auto per_sequence = static_cast<std::size_t>(maps.layers * maps.heads);
  const std::size_t sequences = std::min(limits.sequences, maps.tokens.size());
  json tokens = json::array(), texts = json::array();
  std::size_t longest = 0;
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::vector<std::string>& all = maps.tokens[s];
    const std::size_t shown = shown_tokens(maps, s, limits, range);
    longest = std::max(longest, all.size());
    tokens.push_back(std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown)));
    for (std::size_t m = s * per_sequence; m < (s + 1) * per_sequence; ++m) {
      if (maps.weights[m].empty()) {
        texts.push_back(nullptr);
        continue;
      }
      std::vector<double> values = visible(maps.weights[m], all.size(), shown, maps.extra_key, range, full);
      for (double& a : values) a = std::ldexp(a, -exponent);
      texts.push_back(halves_base64(values));
    }
  }
  const bool kept = static_cast<std::size_t>(maps.chosen.sequence) < sequences;
  return {{"layers", maps.layers},
          {"heads", maps.heads},
          {"extra_key", maps.extra_key},
          {"sink_token", run.evaluation->extra == "token"},
          {"window", range.window},
          {"prefix", range.prefix},
          {"full", full},
          {"exponent", exponent},
          {"of", longest},
          {"tokens", tokens},
          {"chosen",
           {{"sequence", kept ? maps.chosen.sequence : 0}, {"layer", maps.chosen.layer}, {"head", maps.chosen.head}}},
          {"weights", texts}};
}

}  // namespace sink::report
