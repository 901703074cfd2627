// BPE by scores, as SentencePiece does it, as BPE by merges.
#pragma once

#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

inline constexpr std::size_t kLongestScored = 1024;  // bytes of a token

// Of a vocabulary with scores, neighbours merge whose joined text is a token: of all the ones whose token has the
// highest score, of equals the leftmost. So every two tokens that make up a third one are a merge, ranked by the third
// one's score. Sets the merges and ranks of `model` (of characters) by the tokens for which `merges_into` is true; the
// others (bytes, special tokens) come from no merge and take part in none. `scores` has one for each id, none NaN; such
// a token has at most kLongestScored bytes of valid UTF-8 and no other one has its text.
void set_scored_merges(BpeModel& model, const std::vector<float>& scores, const std::vector<bool>& merges_into);

}  // namespace sink
