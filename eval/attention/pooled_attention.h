// The attention of a long text in blocks of keys, in memory that is linear in its length.
#pragma once

#include <vector>

#include "model/attention_point.h"

namespace sink {

// Of one layer. X blocks of `cell` tokens; the last may be shorter.
struct PooledAttention {
  std::vector<Tensor> weights_HXX;           // F64: the mean over the queries of a block of the sum over its keys
  std::vector<std::vector<float>> share_HT;  // what the keys of the text get of each row: 1 without an extra key
};

// The smallest cell with which a text of T tokens has at most 128 blocks that can be computed in one pass.
std::int64_t pooling_cell(const AttentionPoint& point);

// Values that are one for the keys of a block and zero elsewhere turn the output of attention into the sums over
// blocks: element x of o_i is the sum of a_ij over the keys of block x. Rows are then divided by their sums, the extra
// key's weight included. Of a model without sink tokens.
PooledAttention pooled_attention(const AttentionPoint& point, std::int64_t cell);

}  // namespace sink
