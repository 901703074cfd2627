// Keys and values of a cache rounded to few bits, and kept in floating point: the model computes what it would with the
// integers. x becomes lo + n (hi - lo) / (2^bits - 1) with the whole number n from 0 to 2^bits - 1 for which this is
// nearest; lo and hi are the least and the largest value of a group, so both are exact.
#pragma once

#include <string>
#include <vector>

#include "engine/tensor.h"

namespace sink {

struct CacheRounding {
  enum class Scheme {
    // Keys in groups of 32 tokens, for each channel (element of a head); values in groups of 32 channels, for each
    // token. A group of tokens, 32 g ... 32 g + 31 of the text, is exact until its last token is read
    // (Liu et al. 2024, with a residual of a group).
    kivi,
    // Keys and values in groups of 32 channels, for each token, when it is read (as blocks of llama.cpp's Q4_1).
    token,
  };
  static constexpr std::int64_t kGroup = 32;

  int bits = 0;  // 0: exact
  Scheme scheme = Scheme::kivi;
  // Tokens that stay exact, with the extra tokens of the model; others of their group do not see them in lo and hi.
  std::int64_t keep_first = 0;
  std::vector<std::int64_t> keep = {};  // positions from 0

  bool any() const { return bits > 0; }
  bool by_group() const { return any() && scheme == Scheme::kivi; }
  bool keeps(std::int64_t position) const;
  std::string name() const;  // "exact", "kivi 2 bits", "kivi 2 bits, first 4 exact"

  // Rows [begin, end) of k and v (B, G, K, D) on the CPU; the first is at `position` of the text.
  void round(Tensor& k_BGKD, Tensor& v_BGKD, std::int64_t begin, std::int64_t end, std::int64_t position) const;
};

}  // namespace sink
