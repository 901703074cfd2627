// The eviction of H2O (Zhang et al. 2023): each head keeps the tokens that have received the most attention.
#pragma once

#include <vector>

#include "model/forward_hooks.h"
#include "model/key_value_cache.h"

namespace sink {

// A hook that adds up, for each cached key, the weights that it receives from the queries of all heads that share it;
// rows of each query are scaled to sum to one. One sequence.
class HeavyHitters : public ForwardHooks {
 public:
  // Keeps a reference to the cache. The first `extra` tokens are never dropped.
  HeavyHitters(KeyValueCache& cache, std::int64_t extra) : cache_(cache), extra_(extra) {}

  void attention(AttentionPoint& point) override;
  // Drops from each head the key with the smallest sum, the earliest of equals, but none of the last `recent` tokens.
  void drop_lightest(std::int64_t recent);

 private:
  struct Row {
    std::int64_t position;
    double received = 0;
  };
  KeyValueCache& cache_;
  std::int64_t extra_;
  std::vector<std::vector<std::vector<Row>>> rows_LGK_;
};

}  // namespace sink
