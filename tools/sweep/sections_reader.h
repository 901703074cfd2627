// Reads the sections of a TOML file and collects what is wrong in it, so that one error names every line.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "engine/io/settings_toml.h"

namespace sink {

class SectionsReader {
 public:
  SectionsReader(const std::string& text, std::string where)
      : where_(std::move(where)), sections_(read_sections_toml(text, where_, Exit::usage)) {}

  const std::vector<TomlSection>& sections() const { return sections_; }
  void add_problem(std::size_t line, const std::string& what) {
    constexpr std::size_t kMaxProblems = 20;
    if (problems_.size() < kMaxProblems) problems_.push_back(where_ + ": line " + std::to_string(line) + ": " + what);
  }
  // Throws Error (Exit::usage) with the problems, if there are any.
  void finish() const {
    if (problems_.empty()) return;
    std::string text;
    for (const std::string& problem : problems_) text += (text.empty() ? "" : "; ") + problem;
    throw Error(text, Exit::usage);
  }

  // Values of the other kind are a problem: a text for a number or a truth, or one of these for a text.
  void require_texts(const TomlEntry& entry, bool texts) {
    if (std::find(entry.in_quotes.begin(), entry.in_quotes.end(), !texts) != entry.in_quotes.end())
      add_problem(entry.line, entry.key + (texts ? " must be a text in quotes" : " must have no quotes"));
  }

  // The single value of an entry; a list is a problem.
  std::string one(const TomlEntry& entry) {
    if (entry.is_list) add_problem(entry.line, entry.key + " takes one value, not a list");
    return entry.is_list ? "" : entry.values.front();
  }

 private:
  std::string where_;
  std::vector<TomlSection> sections_;
  std::vector<std::string> problems_;
};

}  // namespace sink
