// KeyValueCache: the keys and values of the tokens read so far, so that a new token computes only its own row. With a
// cache in its ForwardContext, a model reads the tokens that follow. Layers without keys keep a state of fixed size.
#pragma once

#include <map>
#include <vector>

#include "engine/tensor.h"
#include "model/cache_rounding.h"

namespace sink {

// The tokens that a query sees where older ones are dropped: the first `first` and the last `window`, with its own
// (Xiao et al. 2023). Both count the extra tokens of the model. Tokens are dropped `step` at a time: with a step above
// one, the cache holds up to step - 1 tokens more, which queries do not see.
struct CacheWindow {
  std::int64_t first = 0, window = 0, step = 1;  // window 0: all tokens
  std::int64_t kept() const { return first + window; }
};

class KeyValueCache {
 public:
  // The position of a cached key.
  enum class Positions {
    of_text,   // that in the text
    of_cache,  // its index in the cache, as if dropped tokens had never existed (Xiao et al. 2023)
  };

  // Holds at most `longest` tokens, the context and the extra tokens of the model. Memory grows with the tokens. Keys
  // are rounded as they are cached: after rotation where positions are those of the text, else before it.
  explicit KeyValueCache(std::int64_t longest, Positions positions = Positions::of_text, CacheWindow window = {},
                         CacheRounding rounding = {})
      : longest_(longest), positions_(positions), window_(window), rounding_(std::move(rounding)) {}

  // Cached tokens, with the extra tokens of the model.
  std::int64_t length() const { return length_; }
  // All tokens that were read, dropped ones as well.
  std::int64_t read() const { return length_ + dropped_; }
  Positions positions() const { return positions_; }
  const CacheWindow& window() const { return window_; }
  // The positions of the next T tokens in each of B sequences, I32 (B, T), at most `last`: from read() on where they
  // are those of the text, from length() on where they are those of the cache.
  Tensor positions_of_next(std::int64_t B, std::int64_t T, std::int64_t last = INT32_MAX) const;

  struct KeysValues {
    Tensor k_BGKD, v_BGKD;
  };
  // Appends the keys and values of T tokens to those of a layer (from 0) and returns all. Of their K rows, those after
  // the first length() + T are unused. Throws Error (Exit::usage) for more than `longest` tokens. The device must be
  // the same in every call.
  KeysValues append(std::int64_t layer, const Tensor& k_BGTD, const Tensor& v_BGTD);
  // After append(): its keys with `rotated` = rotate(k (B, G, n, D), position of the first) in place of each k. A key
  // is rotated once while it has its position. Where rotate() returns its argument, so does this.
  template <class Rotate>
  Tensor rotated_keys(std::int64_t layer, std::int64_t T, const Rotate& rotate) {
    const std::int64_t begin = rotated_rows(layer), end = length_ + T;
    const Tensor k_BGTD = key_rows(layer, begin, end), rotated_BGTD = rotate(k_BGTD, begin);
    return rotated_BGTD.same_data_ptr(k_BGTD) ? layers_.at(layer).held.k_BGKD : set_rotated(layer, begin, rotated_BGTD);
  }
  // What a layer without keys keeps: the last inputs of its convolution and the state of its recurrence. Undefined
  // before the first token; the layer replaces both.
  struct Recurrence {
    Tensor before_BTE, state_BHDD;
  };
  Recurrence& recurrence(std::int64_t layer) { return recurrences_[layer]; }
  // Counts the T tokens that every layer has appended. With rounding by groups of tokens, they are of one group.
  void advance(std::int64_t T);
  // Drops cached tokens [begin, end); later ones move up. Throws Error (Exit::usage) if positions are those of the text
  // and later tokens remain, since their distances would change; or if a layer has a recurrence, which has read them.
  void drop(std::int64_t begin, std::int64_t end);
  // Drops another row of each head of every layer, whose place the last row takes: keys have the positions of the text,
  // and the rows no order.
  void drop_one(const std::vector<std::vector<std::int64_t>>& rows_LG);
  // The memory of all layers.
  std::size_t bytes() const;

 private:
  struct Layer {
    KeysValues held;
    Tensor rotated_BGKD;       // undefined: keys have no positions of the cache
    std::int64_t rotated = 0;  // rows of it
  };
  std::int64_t rotated_rows(std::int64_t layer) const { return layers_.at(layer).rotated; }
  Tensor key_rows(std::int64_t layer, std::int64_t begin, std::int64_t end) const;
  const Tensor& set_rotated(std::int64_t layer, std::int64_t begin, const Tensor& rotated_BGTD);

  std::int64_t longest_;
  Positions positions_;
  CacheWindow window_;
  CacheRounding rounding_;
  std::int64_t length_ = 0, dropped_ = 0;
  std::map<std::int64_t, Layer> layers_;  // those with keys
  std::map<std::int64_t, Recurrence> recurrences_;
};

}  // namespace sink
