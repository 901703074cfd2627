// The attention patterns that an evaluation keeps for reports.
#pragma once

#include <optional>
#include <utility>

#include "eval/sink/evaluation.h"

namespace sink {

// Patterns of longer sequences are kept only for a head that is asked for.
inline constexpr std::int64_t kMaxPatternTokens = 256;

// (layer, head) to show first: the largest mean |alpha_1|, or |alpha_*| of the extra key or sink token. Raw weights,
// since a proxy can be a large share of almost nothing.
std::pair<std::int64_t, std::int64_t> head_to_show(const Evaluation& evaluation);

// The patterns of tokens_NT, of all heads or only of the chosen one (of the first sequence).
Evaluation::Patterns capture_patterns(LanguageModel& model, const Tensor& tokens_NT, std::int64_t layer,
                                      std::int64_t head, bool all_heads, const DocumentPlaces& documents = {});

// The number of sequences whose patterns are kept: at most 4, about 1.5 MB as text; 0 if one sequence is too large or
// longer than kMaxPatternTokens. `positions` are those inside the model.
std::int64_t sequences_to_keep(const Sizes& sizes, std::int64_t sequences, std::int64_t positions);

// Adds the patterns of the first sequences_to_keep() sequences to `evaluation`, in a separate pass. Where that is 0,
// adds only the head to show; for sequences longer than kMaxPatternTokens only if `head` (layer, head) asks for one.
// `head` is shown first. Throws Error (Exit::usage) for a layer or head that does not exist.
void add_patterns(LanguageModel& model, const Batch& sequences,
                  const std::optional<std::pair<std::int64_t, std::int64_t>>& head, Evaluation& evaluation);

}  // namespace sink
