// Trains byte-level BPE.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

inline constexpr std::int64_t kSmallestVocabulary = 258;  // <|endoftext|>, <|padding|> and the 256 bytes
inline constexpr std::size_t kTrainingBytes = std::size_t{64}
                                              << 20;  // of a longer text, evenly spaced documents are taken

// A vocabulary of `vocabulary` tokens: ids 0 and 1 are <|endoftext|> and <|padding|>, then the bytes, then the merged
// pairs in order: each the most frequent one, ties by the smaller left, then right, id. Ends early when no pair is
// left. `texts` are documents in valid UTF-8. The result does not depend on the number of threads.
BpeModel train_bpe(const std::vector<std::string_view>& texts, std::int64_t vocabulary);

}  // namespace sink
