// Reads a text through a key-value cache, with or without eviction of older tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "eval/generate/heavy_hitters.h"
#include "model/key_value_cache.h"
#include "model/language_model.h"

namespace sink {

// The tokens kept in the cache: the first `first` and the last `window`, with the current token (Xiao et al. 2023), or
// in place of the first ones for each head the `heavy` that have received the most attention (Zhang et al. 2023). The
// extra tokens of the model are always kept.
struct Eviction {
  std::int64_t first = 0;
  std::int64_t window = 0;  // 0: no eviction
  std::int64_t heavy = 0;

  bool any() const { return window > 0; }
  std::int64_t kept() const { return first + heavy + window; }
  std::string name() const;  // "all", "window 60", "first 4 + window 60", "heavy 4 + window 60"
};

class TokenReader {
 public:
  // Keeps a reference to the model. The tokens that `rounding` keeps are those of the text. Throws Error (Exit::usage)
  // if more tokens are kept than the context of the model has, or if eviction or rounding do not go with the model.
  explicit TokenReader(LanguageModel& model, Eviction eviction = {}, CacheRounding rounding = {});
  TokenReader(const TokenReader&) = delete;  // heavy_ has a reference to cache_

  // Reads the next tokens, in parts. Returns the logits after the last one, (1, V). Throws Error (Exit::usage) for
  // tokens beyond the context. Results have the same bits for any lengths of the parts, but with memory-mapped
  // matrices, whose products add in another order for fewer than nine tokens.
  Tensor read(std::span<const std::int32_t> ids);
  // Reads tokens at the beginning of `ids`, at most kPart to bound memory. Returns the logits after each, (1, n, V).
  Tensor read_part(std::span<const std::int32_t> ids);
  // The number of tokens that still fit the context; INT64_MAX with a window whose positions are those of the cache.
  std::int64_t room() const;
  const KeyValueCache& cache() const { return cache_; }

  static constexpr std::int64_t kPart = 256;

 private:
  // The next of `ids` that are read at once. Makes space for them in the cache.
  Tensor next_part(std::span<const std::int32_t> ids);
  void check_room(std::size_t tokens) const;
  ForwardContext context() {
    return {.hooks = eviction_.heavy > 0 ? &heavy_ : &ForwardHooks::none(), .cache = &cache_};
  }

  LanguageModel& model_;
  Eviction eviction_;
  CacheRounding rounding_;
  KeyValueCache cache_;
  HeavyHitters heavy_;
};

}  // namespace sink
