// What is scored, as lines of JSONL give it: continuations of contexts, and questions with choices of which one is
// right.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sink {

struct ScorePair {
  std::string context, continuation;
};

enum class ItemKind {
  pair,       // {"context", "continuation"}
  choices,    // {"query", "choices", "gold"}: the query goes on with a blank and one of the choices; gold is from 0
  last_word,  // {"text"}, as LAMBADA: its last word, with the blank before it, continues what stands before
  // {"sentence", "option1", "option2", "answer"}, as WinoGrande: what follows the _ in the sentence continues the
  // sentence up to it with each option in its place; answer is "1" or "2"
  blank,
};

struct ScoredItem {
  std::int64_t line = 0;
  ItemKind kind = ItemKind::pair;
  std::vector<ScorePair> pairs;    // one for each choice
  std::vector<std::size_t> bytes;  // of each choice
  std::optional<std::size_t> gold;
};

// The kind is told by the fields, in the order above; other fields are ignored. Throws JsonFailure.
ScoredItem scored_item(const nlohmann::json& object, std::int64_t line);

// Of a file of JSONL, `-` being standard input; the first `limit`, all if 0. Throws Error (Exit::bad_input), with the
// line, for one that is no such item or of another kind than the first, and where there is none.
std::vector<ScoredItem> read_scored_items(const std::string& path, std::int64_t limit);

}  // namespace sink
