// The lines of a JSONL file to score: continuations of contexts, and questions with choices.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sink {

struct ScorePair {
  std::string context, continuation;
};

enum class ItemKind {
  pair,       // {"context", "continuation"}
  choices,    // {"query", "choices", "gold"}: query, a blank and one of the choices; gold counts from 0
  last_word,  // {"text"}, as in LAMBADA: the last word, with the blank before it, is the continuation
  // {"sentence", "option1", "option2", "answer"}, as in WinoGrande: the context is the sentence up to the _ with an
  // option in its place, the continuation a blank and the rest of the sentence without white space around it; answer
  // is "1" or "2"
  blank,
};

struct ScoredItem {
  std::int64_t line = 0;
  ItemKind kind = ItemKind::pair;
  std::vector<ScorePair> pairs;    // one for each choice
  std::vector<std::size_t> bytes;  // of each choice
  std::optional<std::size_t> gold;
};

// The fields determine the kind: continuation, choices, option1, text, the first that is there; other fields are
// ignored. Throws JsonFailure.
ScoredItem scored_item(const nlohmann::json& object, std::int64_t line);

// The first `limit` lines (0: all) of a JSONL file; `-` is standard input. Throws Error (Exit::bad_input), with the
// line, for a line that is no item or of another kind than the first, and for an empty file.
std::vector<ScoredItem> read_scored_items(const std::string& path, std::int64_t limit);

}  // namespace sink
