// alpha_1 and alpha_* of a model without any preference: every row spreads its weight evenly over the keys that it
// sees.
//
//   alpha_1 = 1/T sum_i [row i sees key 1] / n_i        n_i keys are visible to row i, an extra key included
//   alpha_* = 1/(T+1) (1 + sum_i 1 / n_i)               of an extra key, whose own row has weight 1 on itself
//   alpha_* = 1/(T+1) sum_i [row i sees key *] / n_i    of a sink token, which is a position before the T others
//
// Row i sees key j if j <= i and j > i - window, or j <= prefix; blocks without a window see all keys j <= i. The value
// of a model is the mean over its blocks. Example: T = 64 without a window, prefix or extra key: alpha_1 = 0.0741.
#pragma once

#include <cstdint>

#include "model/sizes.h"

namespace sink {

struct VisibleKeys {
  std::int64_t T = 0, layers = 1;
  std::int64_t window = 0;         // 0: none
  std::int64_t prefix = 0;         // the first keys, which every row sees; sink tokens are not counted
  std::int64_t global_layers = 0;  // blocks without a window
  bool extra_key = false;
  std::int64_t extra_tokens = 0;  // sink tokens: the prefix has them, a window does not
  // Where the document of each of the T tokens begins, with a document mask: a row then sees its document and the sink
  // tokens, and alpha_k is divided by the rows from k to the end of its document.
  const std::int32_t* document_starts = nullptr;
};

struct EvenAttention {
  double alpha_1, alpha_star;  // alpha_star is NaN without an extra key or sink token
};
EvenAttention even_attention(const VisibleKeys& keys);
// alpha_k, the same for key k:  1/(T - k + 1) sum_i [row i sees key k] / n_i
double even_alpha(const VisibleKeys& keys, std::int64_t k);
// Those of a model that reads T tokens.
VisibleKeys visible_keys(const Sizes& sizes, std::int64_t T, std::int64_t extra_tokens, bool extra_key);

}  // namespace sink
