// The attention maps that an evaluation keeps to be looked at: which, and of how many sequences.
#pragma once

#include <optional>
#include <utility>

#include "eval/sink/evaluation.h"

namespace sink {

// Maps of more tokens are only kept when a head is asked for.
inline constexpr std::int64_t kLongestMap = 256;

// (layer, head) to show first: the one that attends to its sink the most by weights as they act. That is the largest
// mean |alpha_1|, raw, or |alpha_*| of the extra key or sink token; a proxy may be a large share of almost nothing.
std::pair<std::int64_t, std::int64_t> head_to_show(const Evaluation& evaluation);

// The maps of tokens_NT, of all heads or only of the chosen one, which is then that of the first sequence.
Evaluation::Maps take_maps(LanguageModel& model, const Tensor& tokens_NT, std::int64_t layer, std::int64_t head,
                           bool all_heads, const DocumentPlaces& documents = {});

// Of how many sequences all maps are kept: at most 4, and so few that they take about 1.5 MB as text; 0 where not even
// one sequence does, or is longer than kLongestMap. `positions` are those inside the model.
std::int64_t sequences_to_keep(const Sizes& sizes, std::int64_t sequences, std::int64_t positions);

// Puts into `evaluation` all maps of the first few sequences, in a pass of their own. Where sequences_to_keep says
// 0, the head to show alone; and of a sequence longer than kLongestMap that only if `head` (layer, head) asks for it.
// `head` becomes the chosen one. Throws Error (Exit::usage) for a layer or head that is not there.
void keep_maps(LanguageModel& model, const Batch& sequences,
               const std::optional<std::pair<std::int64_t, std::int64_t>>& head, Evaluation& evaluation);

}  // namespace sink
