// Tokens as they are made, as text that can be printed: whole characters, none twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/tokenizer/tokenizer.h"

namespace sink {

class TextPieces {
 public:
  // Keeps the tokenizer by reference. What is added follows `before`.
  explicit TextPieces(const Tokenizer& tokenizer, std::vector<std::int32_t> before = {});

  // The characters that are complete with this token and were not before; may be empty.
  std::string add(std::int32_t id);
  // What is left, whole or not.
  std::string rest() const { return text().substr(given_); }

 private:
  std::string text() const { return tokenizer_.decode(ids_); }

  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> ids_;
  std::size_t given_ = 0;
};

}  // namespace sink
