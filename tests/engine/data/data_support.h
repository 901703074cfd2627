// A small prepared text, and the values of a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/token_writer.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/sha256.h"
#include "engine/tensor.h"
#include "tests/support/files.h"

namespace sink {

inline std::vector<std::int32_t> values(const Tensor& tensor) {
  const std::int32_t* data = tensor.data<std::int32_t>();
  return {data, data + tensor.size()};
}

inline std::vector<std::int32_t> values(const TokenIds& ids) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(ids.size()));
  ids.copy(0, ids.size(), all.data());
  return all;
}

// Writes a token file of `domains` domains with as many tokens each; the first has `weight`, the others 1.
struct NewTokens {
  std::vector<std::int32_t> train, valid;
  std::int64_t vocabulary = 258;
  std::string sources = "here", tokenizer_sha256 = "";
  std::int64_t begin_token = -1;
  std::size_t domains = 1;
  double weight = 0;  // 0: of all domains
};
inline void write_tokens(const std::string& path, const NewTokens& tokens) {
  TokenWriter writer(path, tokens.vocabulary);
  const auto part = [&](const std::vector<std::int32_t>& of, std::size_t n) {
    const auto begin = [&](std::size_t d) {
      return of.begin() + static_cast<std::ptrdiff_t>(d * of.size() / tokens.domains);
    };
    return std::vector<std::int32_t>(begin(n), begin(n + 1));
  };
  for (std::size_t n = 0; n < tokens.domains; ++n) {
    writer.begin_domain(n == 0 ? "text" : "text " + std::to_string(n),
                        n == 0 || tokens.weight == 0 ? tokens.weight : 1);
    writer.add_document(part(tokens.train, n), false);
    writer.add_document(part(tokens.valid, n), true);
  }
  writer.close({.end_of_text = 0,
                .begin_token = tokens.begin_token,
                .sources = tokens.sources,
                .tokenizer_sha256 = tokens.tokenizer_sha256});
  writer.commit();
}

// Token i is i modulo 251, so that each tells its position; `train` and `valid` are token counts.
inline void write_counting_text(const std::string& folder, std::size_t train, std::size_t valid) {
  std::string json = Tokenizer::train({"x"}, 258).json();
  NewTokens file;
  file.tokenizer_sha256 = sha256_hex(json);
  for (std::size_t i = 0; i < train; ++i) file.train.push_back(static_cast<std::int32_t>(i % 251));
  for (std::size_t i = 0; i < valid; ++i) file.valid.push_back(static_cast<std::int32_t>(i % 251));
  write_bytes(folder + "/tokenizer.json", json);
  write_tokens(folder + "/tokens.h5", file);
}
inline void write_counting_text(const TemporaryFolder& folder, std::size_t train, std::size_t valid) {
  write_counting_text(folder.path, train, valid);
}

}  // namespace sink
