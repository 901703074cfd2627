// Attention patterns and scores of all heads of a layer, and the outputs of a replaced pattern.
#pragma once

#include "model/attention_point.h"

namespace sink::python {

// (B, H, P, E + P): float32, or float64 in a model of float64. E = 1 with an extra key, whose column is the first.
Tensor attention_pattern_of(const AttentionPoint& point);
// s_ij = scale q_i . k_j + bias, as the attention operation reads it; -inf where query i does not see key j.
Tensor attention_scores(const AttentionPoint& point);
// o_i = sum_j a_ij v_j, in double: (B, H, P, D) with the type of point.o_BHTD.
Tensor mix_values(const AttentionPoint& point, const Tensor& pattern_BHTK);

}  // namespace sink::python
