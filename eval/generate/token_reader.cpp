#include "eval/generate/token_reader.h"

#include <algorithm>

#include "engine/check.h"

namespace sink {

std::string Eviction::name() const {
  if (!any()) return "all";
  return (first > 0 ? "first " + std::to_string(first) + " + " : "") + "window " + std::to_string(window);
}

TokenReader::TokenReader(LanguageModel& model, Eviction eviction)
    : model_(model),
      eviction_(eviction),
      cache_(model.sizes().context + model.extra_tokens(),
             eviction.any() ? KeyValueCache::Positions::of_cache : KeyValueCache::Positions::of_text) {
  SINK_CHECK(eviction.first + eviction.window <= model.sizes().context, "eviction",
             "expected at most the context of " + std::to_string(model.sizes().context) + " tokens to be kept, got " +
                 eviction.name(),
             Exit::usage);
}

std::int64_t TokenReader::room() const {
  return eviction_.any() ? INT64_MAX : model_.sizes().context + model_.extra_tokens() - cache_.length();
}

Tensor TokenReader::read(std::span<const std::int32_t> ids) {
  SINK_CHECK(!ids.empty(), "reader", "expected at least one token");
  SINK_CHECK(static_cast<std::int64_t>(ids.size()) <= room(), "reader",
             "expected at most " + std::to_string(room()) + " tokens more within the context of " +
                 std::to_string(model_.sizes().context) + ", got " + std::to_string(ids.size()) +
                 ": give a shorter text, or --window to drop older tokens",
             Exit::usage);
  Tensor logits_1V;
  while (!ids.empty()) {
    std::int64_t room_now = kPart;
    if (eviction_.any()) {
      const std::int64_t held = std::max(cache_.length(), model_.extra_tokens());
      if (held >= most_kept()) {
        const std::int64_t first = model_.extra_tokens() + eviction_.first;
        cache_.drop(first, first + held - most_kept() + 1);
      }
      room_now = std::max<std::int64_t>(1, std::min(kPart, most_kept() - held));
    }
    const std::size_t n = std::min(ids.size(), static_cast<std::size_t>(room_now));
    const auto part_1T = Tensor::from<std::int32_t>({1, static_cast<std::int64_t>(n)},
                                                    {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)});
    logits_1V = model_.next_logits(part_1T, {.cache = &cache_});
    ids = ids.subspan(n);
  }
  return logits_1V.to(Device::cpu);
}

}  // namespace sink
