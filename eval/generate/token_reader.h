// Reading a text token by token, with the keys and values of what was read before, all of them or a part.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/key_value_cache.h"
#include "model/language_model.h"

namespace sink {

// Which tokens are kept when there are more: the first `first` and the last `window` (Xiao et al. 2023), what a token
// sees of itself included. Tokens that the model puts first itself stay in any case.
struct Eviction {
  std::int64_t first = 0;
  std::int64_t window = 0;  // 0: all are kept

  bool any() const { return window > 0; }
  std::string name() const;  // "all", "window 60", "first 4 + window 60"
};

class TokenReader {
 public:
  // Keeps the model by reference. Throws Error (Exit::usage) where the model's context has no room for what is kept.
  explicit TokenReader(LanguageModel& model, Eviction eviction = {});

  // (1, V): the logits behind the last of these tokens, which follow those that were read. Part by part, so that memory
  // is that of kPart tokens; one by one where tokens have to be dropped. Throws Error (Exit::usage) where the context
  // ends before them.
  Tensor read(std::span<const std::int32_t> ids);
  // How many can still be read; without end where tokens are dropped.
  std::int64_t room() const;
  const KeyValueCache& cache() const { return cache_; }

  static constexpr std::int64_t kPart = 256;

 private:
  std::int64_t most_kept() const { return model_.extra_tokens() + eviction_.first + eviction_.window; }

  LanguageModel& model_;
  Eviction eviction_;
  KeyValueCache cache_;
};

}  // namespace sink
