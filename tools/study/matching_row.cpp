#include "tools/study/matching_row.h"

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace sink {
namespace {

using Flags = std::map<std::string, std::string>;

// "--heads 4 --steps 10" as {heads: 4, steps: 10}.
Flags flags_of(const StudyRow& row) {
  std::istringstream words(row.settings);
  Flags flags;
  for (std::string flag, value; words >> flag >> value;) flags[flag.substr(2)] = value;
  return flags;
}

// What an experiment changes besides what it reads.
Flags other_flags(const StudyRow& row) {
  static const std::set<std::string> of_reading{"fixed-token", "fixed-position", "random-from",      "random-to",
                                                "prefix",      "window",         "prefix-validation"};
  Flags flags = flags_of(row);
  std::erase_if(flags, [](const auto& flag) { return of_reading.contains(flag.first); });
  return flags;
}

}  // namespace

Reading reading_of(const std::function<std::string(const std::string& flag)>& setting) {
  const auto whole = [&](const char* flag, std::int64_t usual) -> std::int64_t {
    const std::string text = setting(flag);
    return text.empty() ? usual : std::strtoll(text.c_str(), nullptr, 10);
  };
  Reading reading;
  if (const std::string task = setting("task"); !task.empty()) reading.task = task;
  if (whole("fixed-token", -1) >= 0) reading.fixed_position = whole("fixed-position", 1);
  if (whole("random-from", 0) > 0) {
    reading.random_from = whole("random-from", 0);
    reading.random_to = whole("random-to", 0);
  }
  reading.prefix = whole("prefix", 0);
  reading.window = whole("window", 0);
  return reading;
}

Reading reading_of(const StudyRow& row) {
  const Flags flags = flags_of(row);
  return reading_of([&](const std::string& flag) {
    const auto found = flags.find(flag);
    return found == flags.end() ? std::string() : found->second;
  });
}

std::string description_of(const Reading& reading) {
  std::string what, mask;
  if (reading.fixed_position == 1) what = " with a fixed first token";
  if (reading.fixed_position > 1) what = " with a fixed token at position " + std::to_string(reading.fixed_position);
  if (reading.random_from > 0) {
    what += (what.empty() ? " with random tokens at position" : " and random tokens at position");
    what += reading.random_to > reading.random_from
                ? "s " + std::to_string(reading.random_from) + " to " + std::to_string(reading.random_to)
                : " " + std::to_string(reading.random_from);
  }
  if (reading.prefix > 0) mask += ", prefix " + std::to_string(reading.prefix);
  if (reading.window > 0) mask += ", window " + std::to_string(reading.window);
  const std::string task = reading.task == "bigram-backcopy" ? "Bigram-Backcopy" : reading.task;
  return (what.empty() && task == "text" ? "natural text" : task + what) + mask;
}

std::optional<StudyRow> matching_row(const StudyRow& row, const Reading& ours) {
  if (row.id.empty()) return std::nullopt;
  if (reading_of(row) == ours) return row;
  for (const StudyRow& other : study_rows())
    if (other.ablation == row.ablation && other.preset == row.preset && other_flags(other) == other_flags(row) &&
        reading_of(other) == ours)
      return other;
  return std::nullopt;
}

}  // namespace sink
