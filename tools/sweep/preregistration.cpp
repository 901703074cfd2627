#include "tools/sweep/preregistration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "tools/sweep/sections_reader.h"

namespace sink {
namespace {

class Reader : public SectionsReader {
 public:
  using SectionsReader::SectionsReader;

  double number(const TomlEntry& entry) {
    require_texts(entry, false);
    const std::optional<double> value = parse_number<double>(one(entry));
    if (!value || !(*value >= 0 && std::isfinite(*value)))
      add_problem(entry.line, entry.key + " is a number that is not negative");
    return value.value_or(0);
  }
  // Of p values.
  double level(const TomlEntry& entry) {
    const double value = number(entry);
    if (!(value > 0 && value < 1)) add_problem(entry.line, "level is above 0 and below 1, such as 0.05");
    return value;
  }
  std::vector<std::uint64_t> seeds(const TomlEntry& entry) {
    std::vector<std::uint64_t> numbers;
    require_texts(entry, false);
    for (const std::string& word : entry.values) {
      const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(word);
      if (!value) add_problem(entry.line, in_quotes(word) + " is no seed");
      if (value && std::ranges::find(numbers, *value) != numbers.end())
        add_problem(entry.line, "seed " + std::to_string(*value) + " is given twice");
      numbers.push_back(value.value_or(0));
    }
    return numbers;
  }
  template <class Value>
  Value one_of(const TomlEntry& entry, const std::map<std::string, Value>& choices) {
    const auto found = choices.find(one(entry));
    if (found != choices.end()) return found->second;
    std::string all;
    for (const auto& [name, value] : choices) all += (all.empty() ? "" : ", ") + name;
    add_problem(entry.line, entry.key + " is one of " + all);
    return {};
  }

  // Calls the function of every entry's key.
  using Keys = std::map<std::string, std::function<void(const TomlEntry&)>>;
  void read(const TomlSection& section, const Keys& keys) {
    for (const TomlEntry& entry : section.entries) {
      const auto key = keys.find(entry.key);
      if (key != keys.end()) {
        key->second(entry);
        continue;
      }
      std::string all;
      for (const auto& [name, read] : keys) all += (all.empty() ? "" : ", ") + name;
      add_problem(entry.line,
                  "unknown key " + in_quotes(entry.key) + " of [" + section.name + "]; expected one of " + all);
    }
  }
};

void add_claims(Reader& reader, const TomlSection& section, std::vector<RegisteredClaim>& claims) {
  static const std::map<std::string, Expected> kExpected{
      {"less", Expected::less}, {"greater", Expected::greater}, {"equal", Expected::equal}};
  static const std::map<std::string, std::string> kMeasures = [] {
    std::map<std::string, std::string> by_name;
    for (const char* name :
         {"excess_1", "excess_star", "excess_fixed", "total", "val_loss", "sink_lead", "excess_massive",
          "change_removed_1", "change_constant_1", "change_w4a4", "constant_share"})
      by_name[name] = name;
    return by_name;
  }();
  RegisteredClaim claim;
  std::vector<std::string> runs;
  bool has_direction = false;
  const auto to = [&](std::string& member) { return [&](const TomlEntry& entry) { member = reader.one(entry); }; };
  reader.read(section, {{"says", to(claim.says)},
                        {"family", to(claim.family)},
                        {"paper", to(claim.paper)},
                        {"study", to(claim.study)},
                        {"against", to(claim.against)},
                        {"not-testable", to(claim.not_testable)},
                        {"run", [&](const TomlEntry& entry) { runs = entry.values; }},
                        {"measure", [&](const TomlEntry& entry) { claim.measure = reader.one_of(entry, kMeasures); }},
                        {"smallest", [&](const TomlEntry& entry) { claim.smallest = reader.number(entry); }},
                        {"expected", [&](const TomlEntry& entry) {
                           claim.expected = reader.one_of(entry, kExpected);
                           has_direction = true;
                         }}});
  for (const auto& [key, missing] :
       {std::pair("says", claim.says.empty()), std::pair("family", claim.family.empty()),
        std::pair("study", claim.study.empty()), std::pair("run", runs.empty()), std::pair("expected", !has_direction)})
    if (missing) reader.add_problem(section.line, std::string("this claim has no key `") + key + "`");
  static const std::map<std::string, const char*> kUnits{
      {"val_loss", "in nats"},         {"sink_lead", "in steps"},        {"excess_massive", "a ratio"},
      {"change_removed_1", "in nats"}, {"change_constant_1", "in nats"}, {"change_w4a4", "in nats"},
      {"constant_share", "a ratio"}};
  if (const auto unit = kUnits.find(claim.measure); unit != kUnits.end() && !claim.smallest)
    reader.add_problem(section.line, "a claim on " + claim.measure + " needs `smallest`, " + unit->second);
  for (const std::string& run : runs) {
    if (run == claim.against) reader.add_problem(section.line, "run " + printable(run) + " is compared with itself");
    claim.run = run;
    claims.push_back(claim);
  }
}

}  // namespace

Preregistration preregistration_from_toml(const std::string& text, const std::string& where) {
  Preregistration all;
  all.path = where;
  Reader reader(text, where);
  for (const TomlSection& section : reader.sections()) {
    if (section.name == "claim" && section.repeated) {
      add_claims(reader, section, all.claims);
    } else if (section.name == "choice" && !section.repeated) {
      RecipeChoice& choice = all.choice;
      const auto for_people = [](const TomlEntry&) {};  // the study's file has these
      reader.read(
          section,
          {{"study", [&](const TomlEntry& entry) { choice.study = reader.one(entry); }},
           {"seeds", [&](const TomlEntry& entry) { choice.seeds = reader.seeds(entry); }},
           {"least-ratio", [&](const TomlEntry& entry) { choice.least_ratio = reader.number(entry); }},
           {"most-variation", [&](const TomlEntry& entry) { choice.most_variation = reader.number(entry); }},
           {"most-loss-excess", [&](const TomlEntry& entry) { choice.most_loss_excess = reader.number(entry); }},
           {"weight-decay", for_people},
           {"steps", for_people}});
    } else if (section.name == "judged" && !section.repeated) {
      reader.read(section,
                  {{"seeds", [&](const TomlEntry& entry) { all.seeds = reader.seeds(entry); }},
                   {"level", [&](const TomlEntry& entry) { all.level = reader.level(entry); }},
                   {"smallest-share", [&](const TomlEntry& entry) { all.smallest_share = reader.number(entry); }}});
    } else if (!section.name.empty() || !section.entries.empty()) {
      reader.add_problem(section.line, "expected [choice], [judged] or [[claim]]");
    }
  }
  if (all.seeds.size() < 2) reader.add_problem(1, "[judged] needs `seeds`, two or more");
  reader.finish();
  return all;
}

Preregistration read_preregistration(const std::string& path) {
  return preregistration_from_toml(read_file("sweep", path, kMaxSettingsBytes + 1), path);
}

}  // namespace sink
