#include "eval/generate/token_reader.h"

#include <algorithm>

#include "engine/check.h"

namespace sink {

std::string Eviction::name() const {
  if (!any()) return "all";
  return (first > 0 ? "first " + std::to_string(first) + " + " : "") + "window " + std::to_string(window);
}

namespace {

// With extra tokens. The cache drops tokens in steps if rows for them are left in the context.
CacheWindow window_of(const LanguageModel& model, const Eviction& eviction) {
  if (!eviction.any()) return {};
  const std::int64_t rows_left = model.sizes().context - eviction.first - eviction.window + 1;
  return {model.extra_tokens() + eviction.first, eviction.window,
          model.reads_ahead() ? std::clamp<std::int64_t>(rows_left, 1, TokenReader::kPart) : 1};
}

}  // namespace

TokenReader::TokenReader(LanguageModel& model, Eviction eviction)
    : model_(model),
      eviction_(eviction),
      cache_(model.sizes().context + model.extra_tokens(),
             eviction.any() ? KeyValueCache::Positions::of_cache : KeyValueCache::Positions::of_text,
             window_of(model, eviction)) {
  SINK_CHECK(eviction.first + eviction.window <= model.sizes().context, "eviction",
             "expected at most the context of " + std::to_string(model.sizes().context) + " tokens to be kept, got " +
                 eviction.name(),
             Exit::usage);
}

std::int64_t TokenReader::room() const {
  return eviction_.any() ? INT64_MAX : model_.sizes().context + model_.extra_tokens() - cache_.length();
}

void TokenReader::check_room(std::size_t tokens) const {
  SINK_CHECK(tokens > 0, "reader", "expected at least one token");
  SINK_CHECK(static_cast<std::int64_t>(tokens) <= room(), "reader",
             "expected at most " + std::to_string(room()) + " tokens more within the context of " +
                 std::to_string(model_.sizes().context) + ", got " + std::to_string(tokens) +
                 ": give a shorter text, or --window to drop older tokens",
             Exit::usage);
}

Tensor TokenReader::read(std::span<const std::int32_t> ids) {
  check_room(ids.size());
  Tensor logits_1V;
  while (!ids.empty()) {
    const Tensor part_1T = next_part(ids);
    logits_1V = model_.next_logits(part_1T, {.cache = &cache_});
    ids = ids.subspan(static_cast<std::size_t>(part_1T.dim(1)));
  }
  return logits_1V.to(Device::cpu);
}

Tensor TokenReader::read_part(std::span<const std::int32_t> ids) {
  check_room(std::min<std::size_t>(1, ids.size()));
  return model_.logits(next_part(ids), {.cache = &cache_}).to(Device::cpu);
}

Tensor TokenReader::next_part(std::span<const std::int32_t> ids) {
  std::int64_t n = std::min({kPart, room(), static_cast<std::int64_t>(ids.size())});
  if (const CacheWindow& window = cache_.window(); eviction_.any()) {
    const std::int64_t rows = window.kept() + window.step - 1;
    if (cache_.length() == rows) cache_.drop(window.first, window.first + window.step);
    n = std::min(n, rows - std::max(cache_.length(), model_.extra_tokens()));
  }
  return Tensor::from<std::int32_t>({1, n}, {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)});
}

}  // namespace sink
