#include "tools/sweep/study_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "engine/io/utf8.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxShownBytes = 60;  // of a word of the file in a message
constexpr std::size_t kMaxRuns = 100000;    // of a grid, which bounds the memory that a file can ask for

// Why a study cannot set this flag; "" if it can.
std::string why_not_set(const std::string& flag) {
  if (flag == "seed") return "use `seeds`";
  if (flag == "data") return "give it on the command line, --data FOLDER";
  if (flag == "threads") return "the sweep measures how many threads are fastest; or give --threads";
  const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
  return setting && !is_saved(*setting) ? "the sweep sets it when it starts a run" : "";
}

std::string shown(const std::string& word) { return printable(utf8_prefix(word, kMaxShownBytes)); }

// A study or a recipe. Collects what is wrong in the file, so that one error names every line.
class StudyReader {
 public:
  StudyReader(const std::string& text, std::string where)
      : where_(std::move(where)), sections_(read_sections_toml(text, where_, Exit::usage)) {}

  const std::vector<TomlSection>& sections() const { return sections_; }
  void add_problem(std::size_t line, const std::string& what) {
    constexpr std::size_t kMaxProblems = 20;
    if (problems_.size() < kMaxProblems) problems_.push_back(where_ + ": line " + std::to_string(line) + ": " + what);
  }
  // Throws Error (Exit::usage) with the problems, if there are any.
  void finish() const {
    if (!problems_.empty()) throw Error(joined(problems_, "; "), Exit::usage);
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

  // The flag of the setting of this key; "" and a problem if there is none.
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
      add_problem(entry.line, setting->flag + " cannot be set in a study: " + why);
      return "";
    }
    require_texts(entry, std::holds_alternative<std::string>(setting->of_kind));
    for (const std::string& value : entry.values) try {  // refuses a bad value here, where its line is known
        RunConfig config;
        setting->set(config, value, setting->flag);
      } catch (const Error& error) { add_problem(entry.line, error.what()); }
    return setting->flag;
  }

  // The same for a section with the settings `given`, which a setting may join once, by any of its names.
  std::string new_setting_of(const TomlEntry& entry, const std::vector<std::string>& other_keys,
                             std::set<std::string>& given) {
    std::string flag = setting_of(entry, other_keys);
    if (!flag.empty() && !given.insert(flag).second) add_problem(entry.line, flag + " is given twice");
    return flag;
  }

  GivenSettings settings_of(const TomlSection& section) {
    GivenSettings settings;
    std::set<std::string> given;
    for (const TomlEntry& entry : section.entries) {
      std::string flag = new_setting_of(entry, {}, given), value = one(entry);
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

void read_seeds(const TomlEntry& entry, StudyReader& reader, StudyFile& study) {
  std::set<std::uint64_t> seen;
  reader.require_texts(entry, false);
  for (const std::string& text : entry.values) {
    const std::optional<std::uint64_t> seed = parse_number<std::uint64_t>(text);
    if (!seed)
      reader.add_problem(entry.line, "seeds must be integers from 0, got `" + shown(text) + "`");
    else if (!seen.insert(*seed).second)
      reader.add_problem(entry.line, "seed " + text + " is given twice");
    study.seeds.push_back(seed.value_or(0));
  }
}

// Whether a text can be a study's name, which is part of file names.
bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMaxShownBytes &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

void read_head(const TomlSection& head, StudyReader& reader, StudyFile& study) {
  static const std::map<std::string, std::string StudyFile::*> texts{
      {"name", &StudyFile::name}, {"question", &StudyFile::question}, {"section", &StudyFile::section},
      {"note", &StudyFile::note}, {"baseline", &StudyFile::baseline}, {"cpu-hours", &StudyFile::cpu_hours}};
  for (const TomlEntry& entry : head.entries) {
    if (entry.key == "seeds") {
      read_seeds(entry, reader, study);
      continue;
    }
    const std::string value = reader.one(entry);
    if (const auto text = texts.find(entry.key); text != texts.end()) {
      study.*text->second = value;
      reader.require_texts(entry, entry.key != "cpu-hours");
      const std::optional<double> hours = parse_number<double>(value);
      if (entry.key == "cpu-hours" && !(hours && *hours > 0 && std::isfinite(*hours)))
        reader.add_problem(entry.line, "cpu-hours must be a number above 0, got `" + shown(value) + "`");
      if (entry.key == "name" && !is_name(value))
        reader.add_problem(entry.line, "a name has only lower-case letters, digits, - and _");
    } else if (entry.key == "checkpoints") {
      study.whole_checkpoints = value == "whole";
      reader.require_texts(entry, true);
      if (value != "whole" && value != "parameters")
        reader.add_problem(entry.line, "checkpoints must be \"whole\" or \"parameters\"");
    } else if (entry.key == "interventions") {
      study.interventions = value == "true";
      reader.require_texts(entry, false);
      if (value != "true" && value != "false") reader.add_problem(entry.line, "interventions must be true or false");
    } else if (entry.key == "recipe") {
      reader.require_texts(entry, true);
    } else {
      std::vector<std::string> known{"seeds", "recipe", "checkpoints", "interventions"};
      for (const auto& [key, member] : texts) known.push_back(key);
      const std::string key = shown(entry.key);
      const bool setting = setting_named(run_config_table(), entry.key) != nullptr;
      reader.add_problem(entry.line, "unknown key `" + key + "`" +
                                         (setting ? ": settings belong under [settings], [cpu], [gpu] or [[runs]]"
                                                  : did_you_mean(key, known)));
    }
  }
  for (const auto& [key, value] : {std::pair{"name", &study.name}, {"question", &study.question}})
    if (value->empty()) reader.add_problem(1, std::string("a study needs ") + key + " = \"...\"");
  if (study.seeds.empty()) reader.add_problem(1, "a study needs seeds, as in seeds = [1, 2, 3]");
}

RunGrid read_grid(const TomlSection& section, StudyReader& reader) {
  static const std::vector<std::string> own{"ablation", "from", "size", "study"};
  RunGrid grid;
  grid.line = section.line;
  std::set<std::string> given;
  std::size_t runs = 1;
  auto multiply = [&](const TomlEntry& entry) {
    if (entry.values.empty()) reader.add_problem(entry.line, entry.key + " is an empty list, which makes no run");
    runs = std::min(kMaxRuns + 1, runs * std::max<std::size_t>(1, entry.values.size()));
  };
  for (const TomlEntry& entry : section.entries) {
    if (entry.key == "ablation" || entry.key == "from") {
      (entry.key == "from" ? grid.from : grid.ablations) = entry.values;
      reader.require_texts(entry, true);
      multiply(entry);
    } else if (entry.key == "size") {
      grid.size = reader.one(entry);
      reader.require_texts(entry, true);
      if (grid.size != "cpu" && grid.size != "gpu") reader.add_problem(entry.line, "size must be \"cpu\" or \"gpu\"");
    } else if (entry.key == "study") {
      grid.study = entry.values;
      reader.require_texts(entry, true);
    } else if (std::string flag = reader.new_setting_of(entry, own, given); !flag.empty()) {
      grid.settings.emplace_back(flag, entry.values);
      multiply(entry);
    }
  }
  if (grid.ablations.empty() && grid.from.empty())
    reader.add_problem(section.line, "[[runs]] needs an ablation = \"...\", or a list of them");
  if (!grid.ablations.empty() && !grid.from.empty())
    reader.add_problem(section.line, "[[runs]] takes either `ablation` or `from`, not both");
  if (runs > kMaxRuns) reader.add_problem(section.line, "more than 100000 runs");
  if (!grid.study.empty() && grid.study.size() != runs)
    reader.add_problem(section.line, "study names " + std::to_string(grid.study.size()) + " rows of the paper for " +
                                         std::to_string(runs) + " runs");
  return grid;
}

void read_sections(StudyReader& reader, bool is_recipe, StudyFile& study) {
  std::map<std::string, GivenSettings> common{{"settings", {}}, {"cpu", {}}, {"gpu", {}}};
  for (const TomlSection& section : reader.sections()) {
    if (section.name.empty()) {
      if (!is_recipe) read_head(section, reader, study);
      if (is_recipe && !section.entries.empty())
        reader.add_problem(section.entries.front().line, "a recipe has only [settings], [cpu] and [gpu]");
    } else if (common.contains(section.name) && !section.repeated) {
      common[section.name] = reader.settings_of(section);
    } else if (section.name == "runs" && section.repeated && !is_recipe) {
      study.runs.push_back(read_grid(section, reader));
    } else {
      reader.add_problem(section.line, "unknown section `" + shown(section.name) +
                                           "`: expected [settings], [cpu], [gpu]" + (is_recipe ? "" : " or [[runs]]"));
    }
  }
  for (auto [size, settings] : {std::pair{"cpu", &study.cpu}, {"gpu", &study.gpu}}) {
    append(*settings, common["settings"]);
    append(*settings, common[size]);
  }
}

// Adds the recipe, if there is one, and then the study itself, whose settings override it.
StudyFile study_of(StudyReader& reader, const std::string& where, StudyReader recipe) {
  StudyFile study;
  study.path = where;
  read_sections(recipe, true, study);
  recipe.finish();
  read_sections(reader, false, study);
  if (study.runs.empty()) reader.add_problem(1, "a study needs runs: [[runs]] with ablation = \"...\"");
  reader.finish();
  return study;
}

// The file that the entry `recipe` of a study names. A study of another person must not show lines of any other file,
// as messages about a recipe do.
std::string find_recipe(const std::string& study, const TomlEntry& entry) {
  const std::string& name = entry.values.front();
  const auto checked = [&](const std::string& path) {
    if (fs::weakly_canonical(path).extension() == ".toml") return path;
    throw Error(
        study + ": line " + std::to_string(entry.line) + ": recipe must name a .toml file, got " + in_quotes(path),
        Exit::usage);
  };
  const std::string beside = (fs::path(study).parent_path() / name).lexically_normal().string();
  if (fs::exists(beside)) return checked(beside);
  const std::string folder = studies_folder(), shared = (fs::path(folder) / name).lexically_normal().string();
  if (!folder.empty() && fs::exists(shared)) return checked(shared);
  throw Error(study + ": line " + std::to_string(entry.line) + ": there is no recipe " + beside +
                  (folder.empty() ? "" : ", nor " + shared) +
                  "; set recipe to the path of the file, absolute or relative to this study",
              Exit::usage);
}

}  // namespace

StudyFile study_from_toml(const std::string& text, const std::string& where, const std::string& recipe_text,
                          const std::string& recipe_where) {
  StudyReader reader(text, where);
  return study_of(reader, where, StudyReader(recipe_text, recipe_where));
}

StudyFile read_study_file(const std::string& path) {
  StudyReader reader(read_file("sweep", path, kMaxSettingsBytes + 1), path);
  for (const TomlEntry& entry : reader.sections().front().entries)
    if (entry.key == "recipe" && !entry.is_list) {
      const std::string recipe = find_recipe(path, entry);
      return study_of(reader, path, StudyReader(read_file("sweep", recipe, kMaxSettingsBytes + 1), recipe));
    }
  return study_of(reader, path, StudyReader("", ""));
}

std::string beside_program(const std::string& path) {
  std::error_code error;
  for (fs::path at = fs::read_symlink("/proc/self/exe", error); at.has_relative_path(); at = at.parent_path())
    if (fs::exists(at.parent_path() / path, error)) return (at.parent_path() / path).string();
  return "";
}

std::string studies_folder() {
  const std::string folder = "train/studies";
  return fs::is_directory(folder) ? folder : beside_program(folder);
}

std::vector<std::string> study_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".toml" && entry.path().filename() != "preregistration.toml")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string find_study(const std::string& given, const std::string& folder) {
  if (fs::exists(given) && !fs::is_directory(given)) return given;
  std::vector<std::string> names;
  if (!folder.empty())
    for (const std::string& file : study_files(folder)) names.push_back(fs::path(file).stem().string());
  const std::string name = fs::path(given).stem().string();
  if (std::find(names.begin(), names.end(), name) != names.end() && fs::path(given).filename() == given)
    return folder + "/" + name + ".toml";
  throw Error("there is no study " + given + "; give a TOML file or a name that `sweep` without arguments lists" +
                  did_you_mean(name, names),
              Exit::usage);
}

}  // namespace sink
