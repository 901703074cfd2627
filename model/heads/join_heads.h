// Heads policies: how the outputs of the heads become one row for the output projection (Gu et al. 2025, Table 12).
//
// Requires: width(sizes), the length of that row; join(o_BHTD) -> (B, T, width). `name` is empty for the default.
#pragma once

#include "autograd/ops/heads_node.h"
#include "model/sizes.h"

namespace sink {

// Side by side: (B, T, H D).
struct ConcatHeads {
  static constexpr const char* name = "";
  static std::int64_t width(const Sizes& sizes) { return sizes.heads * sizes.head_width(); }
  static Var join(const Var& o_BHTD) { return merge_heads(o_BHTD); }
};

// Added up: (B, T, D), so that all heads share one output projection.
struct AddHeads {
  static constexpr const char* name = "AddHeads";
  static std::int64_t width(const Sizes& sizes) { return sizes.head_width(); }
  static Var join(const Var& o_BHTD) { return sum_heads(o_BHTD); }
};

}  // namespace sink
