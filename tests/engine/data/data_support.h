// A small prepared text, and the numbers of a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/token_file.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/sha256.h"
#include "engine/tensor.h"
#include "tests/support/files.h"

namespace sink {

inline std::vector<std::int32_t> values(const Tensor& tensor) {
  const std::int32_t* data = tensor.data<std::int32_t>();
  return {data, data + tensor.size()};
}

// Tokens count up modulo 251, so that each tells its place; `train` and `valid` are numbers of tokens.
inline void write_counting_text(const TemporaryFolder& folder, std::size_t train, std::size_t valid) {
  std::string json = Tokenizer::train({"x"}, 258).json();
  TokenFile file;
  file.vocabulary = 258;
  file.sources = "counting";
  file.tokenizer_sha256 = sha256_hex(json);
  for (std::size_t i = 0; i < train; ++i) file.train.push_back(static_cast<std::int32_t>(i % 251));
  for (std::size_t i = 0; i < valid; ++i) file.valid.push_back(static_cast<std::int32_t>(i % 251));
  write_bytes(folder / "tokenizer.json", json);
  write_bytes(folder / "tokens.h5", to_token_file_bytes(file));
}

}  // namespace sink
