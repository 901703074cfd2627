#include "engine/data/tokenizer/scored_vocabulary.h"

#include <cmath>
#include <unordered_set>

#include "engine/check.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/data/tokenizer/scored_merges.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::size_t kShownOfToken = 80;  // bytes, in a message

void check_scored(const ScoredVocabulary& vocabulary, const std::string& path) {
  auto refuse = [&](const std::string& why) { fail("tokenizer", path + ": " + why, Exit::bad_input); };
  std::size_t count = vocabulary.tokens.size();
  if (vocabulary.scores.size() != count || vocabulary.kinds.size() != count)
    refuse("expected a score and a type for each of its " + std::to_string(count) + " tokens, got " +
           std::to_string(vocabulary.scores.size()) + " and " + std::to_string(vocabulary.kinds.size()));
  std::unordered_set<std::string_view> seen;
  for (std::size_t id = 0; id < count; ++id) {
    const std::string& token = vocabulary.tokens[id];
    std::string name = "token " + std::to_string(id);
    auto kind = static_cast<int>(vocabulary.kinds[id]);
    if (kind < 1 || kind > 6) refuse(name + " is of the unknown type " + std::to_string(kind));
    if (utf8_valid_prefix(token) != token.size()) refuse(name + " is not UTF-8");
    if (token.size() > kLongestScored)
      refuse(name + " has " + std::to_string(token.size()) + " bytes, at most " + std::to_string(kLongestScored) +
             " are read");
    if (std::isnan(vocabulary.scores[id])) refuse(name + " has no number as its score");
    if (vocabulary.kinds[id] == TokenKind::byte && !byte_of_token(token))
      refuse(name + " is of the type byte, but not <0x00> to <0xFF>: " + printable(token.substr(0, kShownOfToken)));
    if (vocabulary.kinds[id] == TokenKind::unused) continue;
    if (token.empty()) refuse(name + " is empty");
    if (!seen.insert(token).second) refuse(name + " is there twice: " + printable(token.substr(0, kShownOfToken)));
  }
}

}  // namespace

BpeModel scored_model(const ScoredVocabulary& vocabulary, const std::string& path) {
  check_scored(vocabulary, path);
  BpeModel model;
  model.byte_level = model.words = false;
  model.replaces_spaces = true;
  model.prepends = vocabulary.space_prefix;
  model.stripped_spaces = vocabulary.space_prefix;
  model.fuse_unknown = true;
  model.bytes = vocabulary.tokens;
  model.in_vocabulary.assign(model.bytes.size(), false);
  model.before = vocabulary.before;
  model.after = vocabulary.after;
  std::vector<bool> normal(model.bytes.size());
  for (std::size_t at = 0; at < model.bytes.size(); ++at) {
    auto id = static_cast<std::int32_t>(at);
    TokenKind kind = vocabulary.kinds[at];
    normal[at] = kind == TokenKind::normal;
    model.in_vocabulary[at] = normal[at] || kind == TokenKind::byte || kind == TokenKind::unknown;
    if (kind == TokenKind::byte) model.id_of_byte[*byte_of_token(model.bytes[at])] = id;
    if (kind == TokenKind::unknown) model.unknown = id;
    bool special = kind == TokenKind::control || kind == TokenKind::unknown;
    if (!special && kind != TokenKind::user_defined) continue;
    std::string content;
    special ? static_cast<void>(content = model.bytes[at]) : append_spaced(model.bytes[at], content);
    model.bytes[at] = content;
    model.added.push_back({id, content, special, false});
  }
  set_scored_merges(model, vocabulary.scores, normal);
  return model;
}

}  // namespace sink
