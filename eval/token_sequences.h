// Sequences of token ids that somebody gives a model to read: a text file or an HDF5 dataset.
#pragma once

#include <string>

#include "engine/tensor.h"

namespace sink {

// I32 (N, T) from `path`: text with one sequence per line, ids apart by blanks or commas, empty lines skipped; or HDF5
// with a dataset `tokens`, N x T whole numbers. Throws Error: Exit::bad_input, saying where, for what is no such file,
// for an id that is not below `vocabulary`, and for sequences that differ in length, have more than `context` ids or
// fewer than two (a loss needs a next token).
Tensor read_token_sequences(const std::string& path, std::int64_t vocabulary, std::int64_t context,
                            std::int64_t least = 2);

}  // namespace sink
