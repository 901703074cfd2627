// Which row of the paper may stand next to a run of ours: the row of the same experiment on the same kind of input. A
// token that is the same in every sequence has a sink of its own (74.11 % in the paper, 18.18 % on natural text), so a
// run with a fixed token is never set next to a row of natural text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/study/study.h"

namespace sink {

// What a run reads and what its mask hides, as far as the paper varies them.
struct Reading {
  std::string task = "text";
  std::int64_t fixed_position = 0;              // of the token that is the same in every sequence; 0: none
  std::int64_t random_from = 0, random_to = 0;  // positions of random tokens; 0: none
  std::int64_t prefix = 0, window = 0;          // 0: none
  bool operator==(const Reading&) const = default;
};

// By the settings of train_<ablation>, flags without their dashes; "" is a setting's default.
Reading reading_of(const std::function<std::string(const std::string& flag)>& setting);
Reading reading_of(const StudyRow& row);

// "natural text", "text with a fixed first token", "text with random tokens at positions 1 to 3, window 32"; the name
// of another task.
std::string description_of(const Reading& reading);

// The row of the paper with the ablation, size and settings of `row` whose reading is `ours`: `row` itself, or for the
// baseline with a fixed first token data-fix1. None where the paper has no such row: it has no text but natural text
// for K biases, nor any other task for anything.
std::optional<StudyRow> matching_row(const StudyRow& row, const Reading& ours);

inline constexpr const char* kNoMatchingRow = "no matching row";

}  // namespace sink
