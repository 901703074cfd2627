#include "engine/data/tokenizer/scored_vocabulary.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/check.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::size_t kLongestScored = 1024;  // bytes of a token

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
    // Other programs look for a byte by its name in capitals.
    const bool lower_case = std::ranges::any_of(token, [](char c) { return c >= 'a' && c <= 'f'; });
    if (vocabulary.kinds[id] == TokenKind::byte && (lower_case || !byte_of_token(token)))
      refuse(name + " is of the type byte, but not <0x00> to <0xFF>: " + in_quotes(token));
    if (vocabulary.kinds[id] == TokenKind::unused) continue;
    if (token.empty()) refuse(name + " is empty");
    // A tokenizer.json knows bytes by their names alone.
    if (vocabulary.kinds[id] != TokenKind::byte && byte_of_token(token))
      refuse(name + " is " + token + ", which is the name of a byte, but of the type " + std::to_string(kind));
    if (!seen.insert(token).second) refuse(name + " is there twice: " + in_quotes(token));
  }
}

// With scores, the adjacent pair merges whose joined text is the token with the highest score, the leftmost among
// equals. So every two tokens that form a third are a merge, ranked by the score of the third. Sets the merges and
// ranks of `model` (of characters) for the tokens with `merges_into`; other tokens (bytes, special tokens) take part in
// no merge. `scores` has one per id, none NaN; a merged token has at most kLongestScored bytes of valid UTF-8 and a
// unique text.
void set_scored_merges(BpeModel& model, const std::vector<float>& scores, const std::vector<bool>& merges_into) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t id = 0; id < model.bytes.size(); ++id) {
    if (merges_into[id]) ids.emplace(model.bytes[id], static_cast<std::int32_t>(id));
  }
  auto id_of = [&](std::string_view text) {
    auto found = ids.find(text);
    return found == ids.end() ? BpeModel::kNone : found->second;
  };
  model.merges.clear();
  for (const auto& [token, id] : ids) {
    for (std::size_t at = 1; at < token.size(); ++at) {
      if ((static_cast<unsigned char>(token[at]) & 0xC0) == 0x80) continue;  // inside a character
      std::int32_t left = id_of(token.substr(0, at));
      std::int32_t right = left == BpeModel::kNone ? left : id_of(token.substr(at));
      if (right != BpeModel::kNone) model.merges.push_back({left, right, id});
    }
  }
  auto score = [&](const BpeMerge& merge) { return scores[static_cast<std::size_t>(merge.result)]; };
  std::sort(model.merges.begin(), model.merges.end(), [&](const BpeMerge& a, const BpeMerge& b) {
    if (score(a) != score(b)) return score(a) > score(b);
    return a.result != b.result ? a.result < b.result : a.left < b.left;
  });
  model.ranks.resize(model.merges.size());
  for (std::size_t i = 1; i < model.merges.size(); ++i)
    model.ranks[i] = model.ranks[i - 1] + (score(model.merges[i]) != score(model.merges[i - 1]));
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
