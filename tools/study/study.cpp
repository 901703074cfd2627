#include "tools/study/study.h"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/io/str_format.h"

namespace sink {
namespace {

using nlohmann::ordered_json;

const ordered_json& paper() {
  static const ordered_json data = ordered_json::parse(study_data("paper.json"));
  return data;
}

// Columns that a line of paper.json leaves out keep their defaults.
PaperRow row_of(const ordered_json& line) {
  PaperRow row;
  std::string* columns[] = {&row.id,    &row.ablation, &row.settings, &row.sink_1, &row.sink_star,
                            &row.valid, &row.meaning,  &row.note,     &row.preset};
  for (std::size_t c = 0; c < line.size(); ++c) *columns[c] = line[c].get<std::string>();
  return row;
}

using Flags = std::map<std::string, std::string>;

// {heads: 4, steps: 10} for "--heads 4 --steps 10".
Flags flags_of(const PaperRow& row) {
  std::istringstream words(row.settings);
  Flags flags;
  for (std::string flag, value; words >> flag >> value;) flags[flag.substr(2)] = value;
  return flags;
}

// The settings of an experiment other than those of its input.
Flags other_flags(const PaperRow& row) {
  static const std::set<std::string> input_flags{"fixed-token",      "fixed-position", "fixed-to", "fixed-probability",
                                                 "random-from",      "random-to",      "prefix",   "window",
                                                 "prefix-validation"};
  Flags flags = flags_of(row);
  std::erase_if(flags, [](const auto& flag) { return input_flags.contains(flag.first); });
  return flags;
}

}  // namespace

const std::vector<PaperRow>& paper_rows() {
  static const std::vector<PaperRow> rows = [] {
    std::vector<PaperRow> made;
    for (const auto& [section, lines] : paper()["experiments"].items())
      for (const ordered_json& line : lines) made.push_back(row_of(line));
    return made;
  }();
  return rows;
}

std::string study_file_of(const PaperRow& row) {
  for (const auto& [begin, name] : paper()["study of ids that begin with"].items())
    if (row.id.starts_with(begin)) return "train/studies/" + name.get<std::string>() + ".toml";
  return "";
}

const std::vector<PaperRow>& beyond_the_paper() {
  static const std::vector<PaperRow> rows = [] {
    std::vector<PaperRow> made;
    for (const auto& [ablation, meaning] : paper()["beyond the paper"].items())
      made.push_back({.ablation = ablation, .meaning = meaning.get<std::string>()});
    return made;
  }();
  return rows;
}

PaperRow paper_row_of(const std::string& ablation) {
  for (const auto* rows : {&paper_rows(), &beyond_the_paper()})
    for (const PaperRow& row : *rows)
      if (row.ablation == ablation && row.settings.empty() && row.preset == "60m") return row;
  return {.id = "",
          .ablation = ablation,
          .settings = "",
          .sink_1 = "",
          .sink_star = "",
          .valid = "",
          .meaning = "not in the paper, and without a line in tools/study/paper.json"};
}

const std::vector<PaperPreset>& paper_presets() {
  static const std::vector<PaperPreset> presets = [] {
    std::vector<PaperPreset> made;
    for (const ordered_json& line : paper()["presets"]) made.push_back({line[0], line[1], line[2]});
    return made;
  }();
  return presets;
}

std::string paper_command(const PaperRow& row) {
  std::string command = "train_" + row.ablation;
  for (const PaperPreset& preset : paper_presets())
    if (preset.name == row.preset) command += " " + preset.flags;
  return row.settings.empty() ? command : command + " " + row.settings;
}

InputKind input_kind_of(const std::function<std::string(const std::string& flag)>& setting) {
  const auto whole = [&](const char* flag, std::int64_t fallback) -> std::int64_t {
    const std::string text = setting(flag);
    return text.empty() ? fallback : std::strtoll(text.c_str(), nullptr, 10);
  };
  InputKind input;
  if (const std::string task = setting("task"); !task.empty()) input.task = task;
  const std::string probability = setting("fixed-probability");
  const double p = probability.empty() ? 1 : std::strtod(probability.c_str(), nullptr);
  if (whole("fixed-token", -1) >= 0 && p != 0) {
    input.fixed_probability = p;
    input.fixed_position = whole("fixed-position", 1);
    input.fixed_to = whole("fixed-to", 0);
  }
  if (whole("random-from", 0) > 0) {
    input.random_from = whole("random-from", 0);
    input.random_to = whole("random-to", 0);
  }
  input.prefix = whole("prefix", 0);
  input.window = whole("window", 0);
  return input;
}

InputKind input_kind_of(const PaperRow& row) {
  const Flags flags = flags_of(row);
  return input_kind_of([&](const std::string& flag) {
    const auto found = flags.find(flag);
    return found == flags.end() ? std::string() : found->second;
  });
}

std::string describe(const InputKind& input) {
  std::string what, mask;
  if (input.fixed_position == 1) what = " with a fixed first token";
  if (input.fixed_position > 1) what = " with a fixed token at position " + std::to_string(input.fixed_position);
  if (input.fixed_to > 0)
    what = " with a fixed token at a drawn position, " + std::to_string(input.fixed_position) + " to " +
           std::to_string(input.fixed_to);
  if (input.fixed_probability != 1) what += str_format(" in %g of the training sequences", input.fixed_probability);
  if (input.random_from > 0) {
    what += (what.empty() ? " with random tokens at position" : " and random tokens at position");
    what += input.random_to > input.random_from
                ? "s " + std::to_string(input.random_from) + " to " + std::to_string(input.random_to)
                : " " + std::to_string(input.random_from);
  }
  if (input.prefix > 0) mask += ", prefix " + std::to_string(input.prefix);
  if (input.window > 0) mask += ", window " + std::to_string(input.window);
  const std::string task = input.task == "bigram-backcopy" ? "Bigram-Backcopy" : input.task;
  return (what.empty() && task == "text" ? "natural text" : task + what) + mask;
}

std::optional<PaperRow> matching_row(const PaperRow& row, const InputKind& ours) {
  if (row.id.empty()) return std::nullopt;
  if (input_kind_of(row) == ours) return row;
  for (const PaperRow& other : paper_rows())
    if (other.ablation == row.ablation && other.preset == row.preset && other_flags(other) == other_flags(row) &&
        input_kind_of(other) == ours)
      return other;
  return std::nullopt;
}

}  // namespace sink
