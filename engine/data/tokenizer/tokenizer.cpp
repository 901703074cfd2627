#include "engine/data/tokenizer/tokenizer.h"

#include <algorithm>
#include <queue>

#include "engine/check.h"
#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/data/tokenizer/pre_tokenize.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::size_t kLongestCached = 64;  // bytes of a piece
constexpr std::size_t kMostCached = 1 << 20;

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

Tokenizer::Tokenizer(BpeModel model) : model_(std::move(model)) {
  rules_.reserve(model_.merges.size());
  for (std::size_t rank = 0; rank < model_.merges.size(); ++rank) {
    const BpeMerge& merge = model_.merges[rank];
    rules_.emplace(pair_number(merge.left, merge.right), Rule{static_cast<std::int32_t>(rank), merge.result});
  }
  id_of_byte_.fill(-1);
  for (std::size_t id = 0; id < model_.bytes.size(); ++id) {
    if (!model_.in_vocabulary[id] || model_.bytes[id].size() != 1) continue;
    id_of_byte_[byte_at(model_.bytes[id], 0)] = static_cast<std::int32_t>(id);
  }
  for (std::size_t i = 0; i < model_.added.size(); ++i) {
    const AddedToken& token = model_.added[i];
    added_by_byte_[token.normalized][byte_at(token.content, 0)].push_back(i);
  }
  auto longer = [&](std::size_t a, std::size_t b) {
    return model_.added[a].content.size() > model_.added[b].content.size();
  };
  for (auto& kind : added_by_byte_) {
    for (auto& tokens : kind) std::stable_sort(tokens.begin(), tokens.end(), longer);
  }
}

Tokenizer Tokenizer::train(const std::vector<std::string_view>& texts, std::int64_t vocabulary) {
  return Tokenizer(train_bpe(texts, vocabulary));
}

Tokenizer Tokenizer::load(const std::string& path) {
  return Tokenizer(parse_tokenizer_json(read_file("tokenizer", path), path));
}

void Tokenizer::save(const std::string& path) const { write_file_atomically(path, json()); }

std::string Tokenizer::json() const { return to_tokenizer_json(model_); }

std::int32_t Tokenizer::end_of_text() const {
  for (const AddedToken& token : model_.added) {
    if (token.content == kEndOfText) return token.id;
  }
  fail("tokenizer", std::string("the tokenizer has no token ") + kEndOfText + " to end documents with",
       Exit::bad_input);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  EncodeCache cache;
  return encode(text, cache);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, EncodeCache& cache) const {
  std::size_t valid = utf8_valid_prefix(text);
  SINK_CHECK(valid == text.size(), "tokenizer", "the text is not UTF-8 at byte " + std::to_string(valid),
             Exit::bad_input);
  std::vector<std::int32_t> ids;
  encode_around(text, false, cache, ids);
  return ids;
}

// The leftmost added token from `from` on; of those that start there, the longest.
Tokenizer::Found Tokenizer::find_added(std::string_view text, std::size_t from, bool normalized) const {
  const auto& by_byte = added_by_byte_[normalized];
  for (std::size_t at = from; at < text.size(); ++at) {
    for (std::size_t i : by_byte[byte_at(text, at)]) {
      const AddedToken& token = model_.added[i];
      if (text.compare(at, token.content.size(), token.content) == 0) return {at, &token};
    }
  }
  return {text.size(), nullptr};
}

// Cuts the text at its added tokens: at those that are looked for first, and what lies between at the others.
void Tokenizer::encode_around(std::string_view text, bool normalized, EncodeCache& cache,
                              std::vector<std::int32_t>& ids) const {
  for (std::size_t from = 0; from < text.size();) {
    Found found = find_added(text, from, normalized);
    std::string_view between = text.substr(from, found.at - from);
    normalized ? encode_plain(between, cache, ids) : encode_around(between, true, cache, ids);
    if (!found.token) return;
    ids.push_back(found.token->id);
    from = found.at + found.token->content.size();
  }
}

void Tokenizer::encode_plain(std::string_view text, EncodeCache& cache, std::vector<std::int32_t>& ids) const {
  cache.pieces.clear();
  pre_tokenize(text, cache.pieces);
  std::string key;
  for (std::string_view piece : cache.pieces) {
    if (piece.size() > kLongestCached) {
      std::vector<std::int32_t> made = encode_piece(piece);
      ids.insert(ids.end(), made.begin(), made.end());
      continue;
    }
    key.assign(piece);
    auto found = cache.ids_of.find(key);
    if (found == cache.ids_of.end()) {
      if (cache.ids_of.size() >= kMostCached) cache.ids_of.clear();
      found = cache.ids_of.emplace(key, encode_piece(piece)).first;
    }
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }
}

// Merges neighbours, always those of the lowest rank and of equals the leftmost, until no rule fits. Symbols form a
// linked list and possible merges a heap, so that a piece of n bytes (a rule of a million dashes) takes n log n steps.
std::vector<std::int32_t> Tokenizer::encode_piece(std::string_view piece) const {
  struct Symbol {
    std::int32_t id;
    int previous, next;  // -1: none
  };
  struct Step {
    std::int32_t rank;
    int at;
    std::int32_t left, right;
    bool operator<(const Step& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  std::vector<Symbol> symbols;
  auto size = static_cast<int>(piece.size());
  for (int i = 0; i < size; ++i) {
    std::int32_t id = id_of_byte_[byte_at(piece, static_cast<std::size_t>(i))];
    symbols.push_back({id, i - 1, i + 1 < size ? i + 1 : -1});
  }
  auto symbol = [&](int i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  std::priority_queue<Step> steps;
  auto propose = [&](int at) {
    if (at < 0 || symbol(at).next < 0) return;
    std::int32_t left = symbol(at).id, right = symbol(symbol(at).next).id;
    auto rule = rules_.find(pair_number(left, right));
    if (rule != rules_.end()) steps.push({rule->second.rank, at, left, right});
  };
  for (int i = 0; i + 1 < size; ++i) propose(i);
  while (!steps.empty()) {
    Step step = steps.top();
    steps.pop();
    Symbol& left = symbol(step.at);
    // A step is stale when one of its symbols has been merged meanwhile (a merged right one has id -1).
    if (left.id != step.left || left.next < 0 || symbol(left.next).id != step.right) continue;
    left.id = rules_.at(pair_number(step.left, step.right)).result;
    Symbol& right = symbol(left.next);
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbol(left.next).previous = step.at;
    propose(left.previous);
    propose(step.at);
  }
  std::vector<std::int32_t> ids;
  for (int i = 0; i >= 0 && i < size; i = symbol(i).next) ids.push_back(symbol(i).id);
  return ids;
}

const std::string& Tokenizer::bytes_of(std::int32_t id) const {
  SINK_CHECK(id >= 0 && id < vocabulary(), "tokenizer",
             "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocabulary()));
  return model_.bytes[static_cast<std::size_t>(id)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::int32_t id : ids) text += bytes_of(id);
  return text;
}

std::string Tokenizer::token_text(std::int32_t id) const { return printable(bytes_of(id)); }

}  // namespace sink
