// An Explanation for other programs: every number of the asked row.
#pragma once

#include <string>

#include "eval/explain/explanation_table.h"

namespace sink {

// JSON text with a line end; numbers in the fewest digits that read back to the same bits, null for what is not finite.
// Names are those of AttentionTrace:
//   ablation policies model trained tokens: [{position, id (-1: sink token), text}]
//   layer head key_head query scale has_bias
//   formula   {operation, whole, g, r, z, m, post, proposed_by} in words, "" where
//   engine/ops/attention/op/attention_op.h
//             has none
//   q q_norm n m S z row_sum o o_norm strongest (index in keys)
//   keys      [{j (-1: the extra key), token, k, v, k_norm, q_dot_k, cosine, bias, s, x, g, r, w, a, v_norm,
//   mixed_norm,
//             share; and with --backward da, dw, dg, dr, ds_by_g, ds_by_S, ds, dk, dv}]; k is empty where the extra key
//             is a bare score
//   backward  with --backward {loss, targets, do, dq, D, dz, arrival: [{operation, shape, norm}]}
std::string explanation_json(const Explanation& explanation, const ExplanationStyle& style, const std::string& ablation,
                             const std::string& policies, bool trained);

}  // namespace sink
