#include "tools/sweep/study_file.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

constexpr std::size_t kMostShown = 60;     // bytes of a word of the file in a message
constexpr std::size_t kMostProblems = 20;  // in one message
constexpr std::size_t kMostRuns = 100000;  // of a product, so that a list cannot ask for more memory than there is

const std::vector<std::string>& study_keys() {
  static const std::vector<std::string> keys{"name",      "question", "section", "note",        "baseline",
                                             "cpu-hours", "seeds",    "recipe",  "checkpoints", "interventions"};
  return keys;
}

// Settings that a study gives in another way, or that say how a run is started.
std::string why_not_set(const std::string& flag) {
  if (flag == "seed") return "the study's seeds are `seeds`";
  if (flag == "data") return "text is given on the command line, --data FOLDER";
  if (flag == "threads") return "how many threads a run has is found by the sweep, or --threads";
  const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
  return setting && !is_saved(*setting) ? "it says how a run is started, which the sweep does" : "";
}

std::string shown(const std::string& word) { return printable(word.substr(0, kMostShown)); }

// Reads the sections of one file and keeps what is wrong with them, to be said at once.
class Reading {
 public:
  Reading(const std::string& text, std::string where)
      : where_(std::move(where)), sections_(read_sections_toml(text, where_, Exit::usage)) {}

  const std::vector<TomlSection>& sections() const { return sections_; }
  void add_problem(std::size_t line, const std::string& what) {
    if (problems_.size() < kMostProblems) problems_.push_back(where_ + ": line " + std::to_string(line) + ": " + what);
  }
  void finish() const {
    if (problems_.empty()) return;
    std::string text;
    for (const std::string& problem : problems_) text += (text.empty() ? "" : "; ") + problem;
    throw Error(text, Exit::usage);
  }

  // One value; a list is refused.
  std::string one(const TomlEntry& entry) {
    if (entry.is_list) add_problem(entry.line, entry.key + " has one value, no list");
    return entry.is_list ? "" : entry.values.front();
  }

  // The flag of a setting, "" where it is none.
  std::string setting_of(const TomlEntry& entry, const std::vector<std::string>& other_keys) {
    const Setting<RunConfig>* setting = setting_named(run_config_table(), entry.key);
    if (!setting) {
      std::vector<std::string> known = other_keys;
      for (const auto& each : run_config_table()) known.push_back(each.flag);
      const std::string key = shown(entry.key);
      add_problem(entry.line, "unknown key `" + key + "`" + did_you_mean(key, known));
      return "";
    }
    if (std::string why = why_not_set(setting->flag); !why.empty()) {
      add_problem(entry.line, setting->flag + " is not set in a study: " + why);
      return "";
    }
    // A value that is not accepted is found here, with its line.
    for (const std::string& value : entry.values) try {
        RunConfig config;
        setting->set(config, value, setting->flag);
      } catch (const Error& error) { add_problem(entry.line, error.what()); }
    return setting->flag;
  }

  GivenSettings settings_of(const TomlSection& section) {
    GivenSettings settings;
    for (const TomlEntry& entry : section.entries) {
      std::string flag = setting_of(entry, {}), value = one(entry);
      if (!flag.empty()) settings.emplace_back(flag, value);
    }
    return settings;
  }

 private:
  std::string where_;
  std::vector<TomlSection> sections_;
  std::vector<std::string> problems_;
};

void append(GivenSettings& to, const GivenSettings& more) { to.insert(to.end(), more.begin(), more.end()); }

void read_seeds(const TomlEntry& entry, Reading& reading, StudyFile& study) {
  std::set<std::uint64_t> seen;
  for (const std::string& text : entry.values) {
    std::uint64_t seed = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc() || end != text.data() + text.size())
      reading.add_problem(entry.line, "seeds are whole numbers from 0, got `" + shown(text) + "`");
    else if (!seen.insert(seed).second)
      reading.add_problem(entry.line, "seed " + text + " is given twice, which is no second seed");
    study.seeds.push_back(seed);
  }
}

// A name is part of file names.
bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMostShown &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

void read_head(const TomlSection& head, Reading& reading, StudyFile& study) {
  for (const TomlEntry& entry : head.entries) {
    if (entry.key == "seeds") {
      read_seeds(entry, reading, study);
      continue;
    }
    const std::string value = reading.one(entry);
    if (entry.key == "name") {
      study.name = value;
      if (!is_name(value)) reading.add_problem(entry.line, "a name is of lower-case letters, digits, - and _");
    } else if (entry.key == "question") {
      study.question = value;
    } else if (entry.key == "section") {
      study.section = value;
    } else if (entry.key == "note") {
      study.note = value;
    } else if (entry.key == "baseline") {
      study.baseline = value;
    } else if (entry.key == "cpu-hours") {
      study.cpu_hours = value;
    } else if (entry.key == "checkpoints") {
      study.whole_checkpoints = value == "whole";
      if (value != "whole" && value != "parameters")
        reading.add_problem(entry.line, "checkpoints are \"whole\" or \"parameters\"");
    } else if (entry.key == "interventions") {
      study.interventions = value == "true";
      if (value != "true" && value != "false") reading.add_problem(entry.line, "interventions are true or false");
    } else if (entry.key != "recipe") {
      const std::string key = shown(entry.key);
      const bool setting = setting_named(run_config_table(), entry.key) != nullptr;
      reading.add_problem(entry.line, "unknown key `" + key + "`" +
                                          (setting ? ": settings stand under [settings], [cpu], [gpu] or [[runs]]"
                                                   : did_you_mean(key, study_keys())));
    }
  }
  for (const auto& [key, value] : {std::pair{"name", &study.name}, {"question", &study.question}})
    if (value->empty()) reading.add_problem(1, std::string("a study has a ") + key + " = \"...\"");
  if (study.seeds.empty()) reading.add_problem(1, "a study has seeds, as in seeds = [1, 2, 3]");
}

RunProduct read_product(const TomlSection& section, Reading& reading) {
  static const std::vector<std::string> own{"ablation", "from", "size", "study"};
  RunProduct product;
  product.line = section.line;
  std::size_t runs = 1;
  auto multiply = [&](const TomlEntry& entry) {
    if (entry.values.empty()) reading.add_problem(entry.line, entry.key + " is an empty list: no run");
    runs = std::min(kMostRuns + 1, runs * std::max<std::size_t>(1, entry.values.size()));
  };
  for (const TomlEntry& entry : section.entries) {
    if (entry.key == "ablation" || entry.key == "from") {
      (entry.key == "from" ? product.from : product.ablations) = entry.values;
      multiply(entry);
    } else if (entry.key == "size") {
      product.size = reading.one(entry);
      if (product.size != "cpu" && product.size != "gpu") reading.add_problem(entry.line, "size is \"cpu\" or \"gpu\"");
    } else if (entry.key == "study") {
      product.study = entry.values;
    } else if (std::string flag = reading.setting_of(entry, own); !flag.empty()) {
      product.settings.emplace_back(flag, entry.values);
      multiply(entry);
    }
  }
  if (product.ablations.empty() && product.from.empty())
    reading.add_problem(section.line, "[[runs]] has an ablation = \"...\", or a list of them");
  if (!product.ablations.empty() && !product.from.empty())
    reading.add_problem(section.line,
                        "[[runs]] has an ablation or starts from a run, whose ablation it then has: not both");
  if (runs > kMostRuns) reading.add_problem(section.line, "more than 100000 runs");
  if (!product.study.empty() && product.study.size() != runs)
    reading.add_problem(section.line, "study names " + std::to_string(product.study.size()) + " rows for " +
                                          std::to_string(runs) + " runs");
  return product;
}

void read_sections(Reading& reading, bool is_recipe, StudyFile& study) {
  std::map<std::string, GivenSettings> common{{"settings", {}}, {"cpu", {}}, {"gpu", {}}};
  for (const TomlSection& section : reading.sections()) {
    if (section.name.empty()) {
      if (!is_recipe) read_head(section, reading, study);
      if (is_recipe && !section.entries.empty())
        reading.add_problem(section.entries.front().line, "a recipe has [settings], [cpu] and [gpu] alone");
    } else if (common.contains(section.name) && !section.repeated) {
      common[section.name] = reading.settings_of(section);
    } else if (section.name == "runs" && section.repeated && !is_recipe) {
      study.runs.push_back(read_product(section, reading));
    } else {
      reading.add_problem(section.line, "there is no section `" + shown(section.name) +
                                            "` here: [settings], [cpu], [gpu]" + (is_recipe ? "" : " or [[runs]]"));
    }
  }
  for (auto [size, settings] : {std::pair{"cpu", &study.cpu}, {"gpu", &study.gpu}}) {
    append(*settings, common["settings"]);
    append(*settings, common[size]);
  }
}

}  // namespace

std::string recipe_of_study(const std::string& text, const std::string& where) {
  const std::vector<TomlSection> sections = read_sections_toml(text, where, Exit::usage);
  for (const TomlEntry& entry : sections.front().entries)
    if (entry.key == "recipe" && !entry.is_list) return entry.values.front();
  return "";
}

StudyFile study_from_toml(const std::string& text, const std::string& where, const std::string& recipe_text,
                          const std::string& recipe_where) {
  StudyFile study;
  study.path = where;
  Reading recipe(recipe_text, recipe_where);  // first: what comes later goes over it
  read_sections(recipe, true, study);
  recipe.finish();
  Reading reading(text, where);
  read_sections(reading, false, study);
  if (study.runs.empty()) reading.add_problem(1, "a study has runs: [[runs]] with ablation = \"...\"");
  reading.finish();
  return study;
}

StudyFile read_study_file(const std::string& path) {
  const std::string text = read_file("sweep", path), recipe = recipe_of_study(text, path);
  if (recipe.empty()) return study_from_toml(text, path);
  const std::string recipe_path = (std::filesystem::path(path).parent_path() / recipe).lexically_normal().string();
  return study_from_toml(text, path, read_file("sweep", recipe_path), recipe_path);
}

}  // namespace sink
