// KeyValueCache: keys and values of what a model has read, so that each token more costs its own row alone. With it in
// a ForwardContext, tokens are those that follow.
#pragma once

#include <vector>

#include "engine/tensor.h"

namespace sink {

class KeyValueCache {
 public:
  // Which position a key has that is kept.
  enum class Positions {
    of_text,   // the one at which it was read
    of_cache,  // its place among those that are kept now: as if what was dropped had never been (Xiao et al. 2023)
  };

  // Holds `longest` tokens at most, the context of the model and what it puts first itself; memory grows as they come.
  explicit KeyValueCache(std::int64_t longest, Positions positions = Positions::of_text)
      : longest_(longest), positions_(positions) {}

  // Tokens held, those that the model puts first itself included.
  std::int64_t length() const { return length_; }
  Positions positions() const { return positions_; }
  // Of T tokens more in each of B sequences, I32 (B, T): length() and on.
  Tensor positions_of_next(std::int64_t B, std::int64_t T) const;

  struct KeysValues {
    Tensor k_BGKD, v_BGKD;
  };
  // Puts those of T tokens behind those that a layer, from 0, holds. Of the K places of what it returns, those behind
  // the first length() + T hold nothing yet. Throws Error (Exit::usage) where they are more than `longest`. On the CPU
  // or another device, always the same.
  KeysValues append(std::int64_t layer, const Tensor& k_BGTD, const Tensor& v_BGTD);
  // What every layer has been given counts from here on.
  void advance(std::int64_t T) { length_ += T; }
  // Forgets tokens [begin, end) of those held; the later ones move up. Throws Error (Exit::usage) where positions are
  // those of the text and later ones are left, whose keys would then be at another distance than they were.
  void drop(std::int64_t begin, std::int64_t end);
  // Memory of all layers.
  std::size_t bytes() const;

 private:
  std::int64_t longest_;
  Positions positions_;
  std::int64_t length_ = 0;
  std::vector<KeysValues> layers_;
};

}  // namespace sink
