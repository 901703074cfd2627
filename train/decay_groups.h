// Which parameters decay: the setting --decay. Groups of the question which weights must decay for a sink to appear.
//
//   all          every parameter, as in the paper
//   matrices     weights of products, as is usual elsewhere: no embeddings, gains, biases, extra keys
//   qk           the rows of attention.qkv.weight that make queries and keys
//   vo           its rows that make values, and attention.out.weight
//   ffn          weights of the feed-forward blocks
//   embeddings   embedding.*.weight and unembedding.weight
//   gains        gains of the norms
#pragma once

#include <string>

#include "autograd/parameter.h"
#include "model/sizes.h"

namespace sink {

// The elements of a parameter that decay, counted from its first; empty if none does.
Segment decayed_part(const ParameterInfo& parameter, const std::string& decay, const Sizes& sizes);

}  // namespace sink
