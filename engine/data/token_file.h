// tokens.h5: tokenised text, split into training and validation, with what is needed to tell whether it is whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sink {

// On disk: a seal (see engine/io/seal.h), then HDF5: the one-dimensional datasets `train` and `valid` (u16, or u32
// where the vocabulary is larger than 65536) and the attributes `vocabulary`, `sources`, `sha256` (of the tokens) and
// `tokenizer_sha256`.
struct TokenFile {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> valid;
  std::int64_t vocabulary = 0;
  std::string sources;           // what the text was, one line per file
  std::string tokenizer_sha256;  // of the tokenizer.json beside it
};

// What the tokens are, wherever the file lies: the SHA-256 of the line "train <count> valid <count>" with its end, and
// of the tokens of both as little-endian i32.
std::string tokens_checksum(const TokenFile& file);

// The whole file as bytes, so that it can be written all at once.
std::string to_token_file_bytes(const TokenFile& file);

// Throws Error (Exit::bad_input) where the file is missing, foreign, truncated or damaged.
TokenFile read_token_file(const std::string& path);

}  // namespace sink
