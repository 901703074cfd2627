// Few queries of f32 and many keys, as in token-by-token generation: keys and values are read in place, because copying
// them into panels costs more than their products.
#pragma once

#include "engine/ops/attention/cpu/attention_tile.h"

namespace sink::cpu {

constexpr std::int64_t kFewQueries = 4;

// One head: T queries, at most kFewQueries, and K keys of width D.
struct FewQueries {
  const float* q;
  std::int64_t T, K, D;
};

// q_i . k_j, and zeros in the rows after the last query. Sums in the order of score_tile().
void product_rows(const Tile& tile, const FewQueries& few, const float* k_rows, float* s);

// o_i += sum_j weights_ij v_j in the order of mix_keys(); weights of invisible keys are 0.
void mix_rows(const Tile& tile, const FewQueries& few, const float* v_rows, const float* s, std::int64_t width,
              float* o);

}  // namespace sink::cpu
