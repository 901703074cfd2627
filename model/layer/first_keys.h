// The first keys of a cache that drops later ones, which softmax over its window leaves out.
#pragma once

#include "engine/tensor.h"
#include "model/key_value_cache.h"

namespace sink {

// o, m and S: softmax of queries, rows first_row ... of the cache, over their last window.window keys; replaced by
// those that see the first window.first keys as well. A query at row i beyond the kept ones sees them from position
// kept - 1, at which `q_BHTD` is rotated. `visible`: the window of the layer in positions, 0: all. On the CPU; plain
// loops in double, since the first keys are few.
void add_first_keys(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD, const CacheWindow& window,
                    std::int64_t visible, std::int64_t first_row, double scale, Tensor& o_BHTD, Tensor& m_BHT,
                    Tensor& S_BHT);

}  // namespace sink
