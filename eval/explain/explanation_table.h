// An Explanation for people: the scalars of one query's row, stage by stage, forward and then backward.
#pragma once

#include <functional>
#include <string>

#include "eval/explain/explanation.h"

namespace sink {

// `what` names the model, `all_numbers` prints vectors in full instead of their first four numbers, and every key
// of a long row instead of its first, last and strongest. About 100 columns.
struct ExplanationStyle {
  std::string what;
  std::function<std::string(std::int32_t)> token_text;
  bool all_numbers = false;
};

std::string explanation_table(const Explanation& explanation, const ExplanationStyle& style);

// The label of the token at position i: its text, "<sink>" for the model's own token, "*" for
// AttentionTrace::kExtraKey.
std::string label_at(const Explanation& explanation, const ExplanationStyle& style, std::int64_t i);

}  // namespace sink
