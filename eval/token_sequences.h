// Sequences of token ids that a user gives: a text file or an HDF5 dataset.
#pragma once

#include <string>

#include "engine/tensor.h"

namespace sink {

// I32 (N, T) from `path`: text with one sequence per line, ids separated by blanks or commas, empty lines skipped; or
// HDF5 with an integer dataset `tokens` of shape N x T. Throws Error (Exit::bad_input), with the position, for a file
// of another kind, an id >= `vocabulary`, or sequences that differ in length, have more than `context` or fewer than
// `min_tokens` ids (a loss needs a next token).
Tensor read_token_sequences(const std::string& path, std::int64_t vocabulary, std::int64_t context,
                            std::int64_t min_tokens = 2);

}  // namespace sink
