// alpha_1 and alpha_* of a model without any preference: every row spreads its weight evenly over the keys that it
// sees.
//
//   alpha_1 = 1/T sum_i [row i sees key 1] / n_i        n_i keys are visible to row i, the extra key or sink token
//   included alpha_* = 1/(T+1) (1 + sum_i 1 / n_i)               its own row has weight 1 on itself
//
// Row i sees key j if j <= i and j > i - window, or j <= prefix; blocks without a window see all keys j <= i. The value
// of a model is the mean over its blocks. Example: T = 64 without a window, prefix or extra key: alpha_1 = 0.0741.
#pragma once

#include <cstdint>

#include "model/sizes.h"

namespace sink {

struct VisibleKeys {
  std::int64_t T = 0, layers = 1;
  std::int64_t window = 0;        // 0: none
  std::int64_t prefix = 0;        // the first keys, which every row sees
  std::int64_t global_every = 0;  // every n-th block has no window; 0: all have it
  bool extra_key = false;         // or a sink token
};

struct EvenAttention {
  double alpha_1, alpha_star;  // alpha_star is NaN without an extra key
};
EvenAttention even_attention(const VisibleKeys& keys);
// alpha_k, the same for key k:  1/(T - k + 1) sum_i [row i sees key k] / n_i
double even_alpha(const VisibleKeys& keys, std::int64_t k);
// Those of a model that reads T tokens. `extra_key`: or a sink token.
VisibleKeys visible_keys(const Sizes& sizes, std::int64_t T, bool extra_key);
EvenAttention even_attention(const Sizes& sizes, std::int64_t T, bool extra_key);

}  // namespace sink
