// An Explanation as a text table, JSON, or an HTML page.
#pragma once

#include <functional>
#include <string>

#include "engine/io/output_kind.h"
#include "eval/explain/explanation.h"

namespace sink {

// `what` names the model. `all_numbers` prints whole vectors instead of their first four elements, and every key of a
// long row instead of the first, the last and those with the largest weights. About 100 columns.
struct ExplanationStyle {
  std::string what;
  std::function<std::string(std::int32_t)> token_text;
  bool all_numbers = false;
};

// The row of the query stage by stage, forward and then backward.
std::string explanation_table(const Explanation& explanation, const ExplanationStyle& style);

// JSON text with a line end. A value has the fewest digits that restore the same bits; values that are not finite are
// null. The names are those of AttentionTrace:
//   ablation policies model trained tokens: [{position, id (-1: sink token), text}]
//   layer head key_head query scale has_bias
//   formula   {operation, whole, g, r, z, m, post, proposed_by} as text; "" if missing in
//             engine/ops/attention/op/attention_op.h
//   q q_norm n m S z row_sum o o_norm strongest (index in keys)
//   keys      [{j (-1: the extra key), token, k, v, k_norm, q_dot_k, cosine, bias, s, x, g, r, w, a, v_norm,
//   mixed_norm,
//             share; with --backward da, dw, dg, dr, ds_by_g, ds_by_S, ds, dk, dv}]; k is empty for an extra key that
//             is a bare score
//   backward  with --backward {loss, targets, do, dq, D, dz, arrival: [{operation, shape, norm}]}
std::string explanation_json(const Explanation& explanation, const ExplanationStyle& style, const std::string& ablation,
                             const std::string& policies, bool trained);

// An HTML page that steps through the row, forward and backward; it needs no network. It includes all rows if it stays
// below 1 MB, otherwise only that of the query. `command`, with its arguments, prints the same.
std::string explanation_page(const Explanation& explanation, const ExplanationStyle& style, const std::string& command);

OutputKind explanation_page_kind();

// The text of the token at position i, "<sink>" for a sink token, "*" for AttentionTrace::kExtraKey.
std::string label_at(const Explanation& explanation, const ExplanationStyle& style, std::int64_t i);

}  // namespace sink
