// KeyValueCache: the keys and values of the tokens read so far, so that a new token computes only its own row. With a
// cache in its ForwardContext, a model reads the tokens that follow. Layers without keys keep a state of fixed size.
#pragma once

#include <map>

#include "engine/tensor.h"

namespace sink {

class KeyValueCache {
 public:
  // The position of a cached key.
  enum class Positions {
    of_text,   // that in the text
    of_cache,  // its index in the cache, as if dropped tokens had never existed (Xiao et al. 2023)
  };

  // Holds at most `longest` tokens, the context and the extra tokens of the model. Memory grows with the tokens.
  explicit KeyValueCache(std::int64_t longest, Positions positions = Positions::of_text)
      : longest_(longest), positions_(positions) {}

  // Cached tokens, with the extra tokens of the model.
  std::int64_t length() const { return length_; }
  Positions positions() const { return positions_; }
  // The positions of the next T tokens in each of B sequences, I32 (B, T): length(), length() + 1, ...
  Tensor positions_of_next(std::int64_t B, std::int64_t T) const;

  struct KeysValues {
    Tensor k_BGKD, v_BGKD;
  };
  // Appends the keys and values of T tokens to those of a layer (from 0) and returns all. Of their K rows, those after
  // the first length() + T are unused. Throws Error (Exit::usage) for more than `longest` tokens. The device must be
  // the same in every call.
  KeysValues append(std::int64_t layer, const Tensor& k_BGTD, const Tensor& v_BGTD);
  // What a layer without keys keeps: the last inputs of its convolution and the state of its recurrence. Undefined
  // before the first token; the layer replaces both.
  struct Recurrence {
    Tensor before_BTE, state_BHDD;
  };
  Recurrence& recurrence(std::int64_t layer) { return recurrences_[layer]; }
  // Counts the T tokens that every layer has appended.
  void advance(std::int64_t T) { length_ += T; }
  // Drops cached tokens [begin, end); later ones move up. Throws Error (Exit::usage) if positions are those of the text
  // and later tokens remain, since their distances would change; or if a layer has a recurrence, which has read them.
  void drop(std::int64_t begin, std::int64_t end);
  // The memory of all layers.
  std::size_t bytes() const;

 private:
  std::int64_t longest_;
  Positions positions_;
  std::int64_t length_ = 0;
  std::map<std::int64_t, KeysValues> layers_;
  std::map<std::int64_t, Recurrence> recurrences_;
};

}  // namespace sink
