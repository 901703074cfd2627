#include "eval/generate/token_reader.h"

#include <algorithm>

#include "engine/check.h"

namespace sink {

std::string Eviction::name() const {
  if (!any()) return "all";
  const std::string last = "window " + std::to_string(window);
  return heavy > 0   ? "heavy " + std::to_string(heavy) + " + " + last
         : first > 0 ? "first " + std::to_string(first) + " + " + last
                     : last;
}

namespace {

// With extra tokens. The cache drops tokens in steps if rows for them are left in the context.
CacheWindow window_of(const LanguageModel& model, const Eviction& eviction) {
  if (!eviction.any() || eviction.heavy > 0) return {};
  const std::int64_t rows_left = model.sizes().context - eviction.kept() + 1;
  return {model.extra_tokens() + eviction.first, eviction.window,
          model.reads_ahead() ? std::clamp<std::int64_t>(rows_left, 1, TokenReader::kPart) : 1};
}

CacheRounding of_cached_tokens(CacheRounding rounding, std::int64_t extra_tokens) {
  rounding.keep_first += extra_tokens;
  for (std::int64_t& position : rounding.keep) position += extra_tokens;
  return rounding;
}

}  // namespace

TokenReader::TokenReader(LanguageModel& model, Eviction eviction, CacheRounding rounding)
    : model_(model),
      eviction_(eviction),
      rounding_(of_cached_tokens(std::move(rounding), model.extra_tokens())),
      cache_(model.sizes().context + model.extra_tokens(),
             eviction.any() && eviction.heavy == 0 ? KeyValueCache::Positions::of_cache
                                                   : KeyValueCache::Positions::of_text,
             window_of(model, eviction), rounding_),
      heavy_(cache_, model.extra_tokens()) {
  SINK_CHECK(eviction.kept() <= model.sizes().context, "eviction",
             "expected at most the context of " + std::to_string(model.sizes().context) + " tokens to be kept, got " +
                 eviction.name(),
             Exit::usage);
  SINK_CHECK(
      eviction.heavy == 0 || (model.reads_ahead() && model.sizes().window == 0), "eviction",
      "heavy hitters are kept of models on the CPU with softmax over all tokens and with rotary or no positions: "
      "give a window, or first tokens and a window",
      Exit::usage);
  SINK_CHECK(!rounding_.any() || model.parameters().device() == Device::cpu, "rounding",
             "keys and values are rounded on the CPU only: leave out --device", Exit::usage);
  SINK_CHECK(!rounding_.any() || model.sizes().prefix == 0, "rounding",
             "keys and values are not rounded of a model whose first tokens see each other (prefix)", Exit::usage);
  const std::string group = std::to_string(CacheRounding::kGroup);
  SINK_CHECK(
      !rounding_.by_group() || !eviction.any() || (eviction.heavy == 0 && eviction.window >= CacheRounding::kGroup),
      "rounding",
      "kivi rounds keys in groups of " + group + " tokens: expected a window of at least " + group +
          " tokens without heavy hitters, or --kv-scheme token; got " + eviction.name(),
      Exit::usage);
}

std::int64_t TokenReader::room() const {
  return cache_.positions() == KeyValueCache::Positions::of_cache
             ? INT64_MAX
             : model_.sizes().context + model_.extra_tokens() - std::max(cache_.read(), model_.extra_tokens());
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
    logits_1V = model_.next_logits(part_1T, context());
    ids = ids.subspan(static_cast<std::size_t>(part_1T.dim(1)));
  }
  return logits_1V.to(Device::cpu);
}

Tensor TokenReader::read_part(std::span<const std::int32_t> ids) {
  check_room(std::min<std::size_t>(1, ids.size()));
  return model_.logits(next_part(ids), context()).to(Device::cpu);
}

Tensor TokenReader::next_part(std::span<const std::int32_t> ids) {
  std::int64_t n = std::min({kPart, room(), static_cast<std::int64_t>(ids.size())});
  const std::int64_t extra = model_.extra_tokens();
  if (eviction_.any()) {
    const CacheWindow& window = cache_.window();
    const std::int64_t rows = extra + eviction_.kept() + window.step - 1;
    if (cache_.length() == rows) {
      if (eviction_.heavy > 0)
        heavy_.drop_lightest(eviction_.window - 1);
      else
        cache_.drop(window.first, window.first + window.step);
    }
    n = std::min(n, rows - std::max(cache_.length(), extra));
  }
  if (rounding_.by_group())
    n = std::min(n, CacheRounding::kGroup - std::max(cache_.read(), extra) % CacheRounding::kGroup);
  return Tensor::from<std::int32_t>({1, n}, {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)});
}

}  // namespace sink
