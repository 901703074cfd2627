// Reads the vocabularies of llama2.c.
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/check.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/data/tokenizer/scored_vocabulary.h"

namespace sink {

BpeModel read_llama2c_vocabulary(const std::string& bytes, const std::string& path) {
  std::size_t at = 0;
  auto refuse = [&](const std::string& why) {
    fail("tokenizer", path + ": " + why + "; expected a vocabulary of llama2.c (tokenizer.bin)", Exit::bad_input);
  };
  auto read = [&](auto value) {
    if (bytes.size() - at < sizeof value) refuse("ends inside a token, at byte " + std::to_string(bytes.size()));
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
  };
  auto longest = read(std::int32_t{});
  ScoredVocabulary vocabulary;
  while (at < bytes.size()) {
    vocabulary.scores.push_back(read(float{}));
    auto length = read(std::int32_t{});
    if (length < 0 || length > longest || static_cast<std::size_t>(length) > bytes.size() - at)
      refuse("token " + std::to_string(vocabulary.tokens.size()) + " has " + std::to_string(length) +
             " bytes, where the longest has " + std::to_string(longest) + " and the file " +
             std::to_string(bytes.size() - at) + " more");
    append_metaspaced(std::string_view(bytes).substr(at, static_cast<std::size_t>(length)),
                      vocabulary.tokens.emplace_back());
    at += static_cast<std::size_t>(length);
    bool is_byte = byte_of_token(vocabulary.tokens.back()).has_value();
    vocabulary.kinds.push_back(is_byte ? TokenKind::byte : TokenKind::normal);
  }
  if (vocabulary.tokens.size() < 3) refuse("has " + std::to_string(vocabulary.tokens.size()) + " tokens");
  const std::pair<const char*, TokenKind> first[] = {
      {"<unk>", TokenKind::unknown}, {"<s>", TokenKind::control}, {"</s>", TokenKind::control}};
  for (std::size_t id = 0; id < 3; ++id) std::tie(vocabulary.tokens[id], vocabulary.kinds[id]) = first[id];
  vocabulary.before = {1};
  return scored_model(vocabulary, path);
}

}  // namespace sink
