// Heads policies: how the outputs of the heads become one row for the output projection (Gu et al. 2025, Table 12).
#pragma once

#include "autograd/ops/heads_node.h"
#include "model/sizes.h"

namespace sink {

// Side by side: (B, T, H D).
struct ConcatHeads {
  static std::string name() { return "ConcatHeads"; }
  static std::int64_t width(const Sizes& sizes) { return sizes.heads * sizes.width_of_head(); }
  static Var join(const Var& o_BHTD) { return merge_heads(o_BHTD); }
};

// Added up: (B, T, D), so that all heads share one output projection.
struct AddHeads {
  static std::string name() { return "AddHeads"; }
  static std::int64_t width(const Sizes& sizes) { return sizes.width_of_head(); }
  static Var join(const Var& o_BHTD) { return sum_heads(o_BHTD); }
};

}  // namespace sink
