// Sizes are data, mathematics is type: everything here is a run-time number.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "engine/key_range.h"

namespace sink {

struct Sizes {
  std::int64_t layers = 0;
  std::int64_t heads = 0;         // H
  std::int64_t width = 0;         // C
  std::int64_t feed_forward = 0;  // F
  std::int64_t context = 0;       // longest T
  std::int64_t vocabulary = 0;    // V
  std::int64_t kv_heads = 0;      // G, heads of keys and values, each read by H / G query heads; 0: H
  std::int64_t window = 0;        // keys a token sees, its own included; 0: all before it
  std::int64_t prefix = 0;        // tokens that every token sees
  std::int64_t head_width = 0;    // numbers of a head's queries, keys and values; 0: width / heads

  std::int64_t width_of_head() const { return head_width > 0 ? head_width : width / heads; }  // D
  std::int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
};

}  // namespace sink
