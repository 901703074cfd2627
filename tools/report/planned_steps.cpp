#include "tools/report/planned_steps.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "engine/io/settings_toml.h"
#include "tools/report/html_text.h"
#include "tools/report/run_settings.h"
#include "train/run_config_table.h"

namespace sink::report {
namespace {

struct Recipe {  // planned steps
  Settings settings;
  std::int64_t steps = 0;
};

// Settings that do not change the results of a given number of steps.
bool is_interval(const std::string& flag) {
  static const std::set<std::string> flags{"steps",   "eval-every", "eval-sequences", "checkpoint-every", "log-every",
                                           "threads", "seed"};
  return flags.contains(flag);
}

Recipe recipe_of(const std::string& file, const std::string& size) {
  Recipe recipe;
  for (const TomlSection& section : read_sections_toml(page_file(file), file, Exit::failure)) {
    if (!section.name.empty() && section.name != "settings" && section.name != size) continue;
    for (const TomlEntry& entry : section.entries) {
      const Setting<RunConfig>* setting = setting_named(run_config_table(), entry.key);
      const std::string flag = setting ? setting->flag : entry.key;
      if (flag == "steps") recipe.steps = std::strtoll(entry.values.front().c_str(), nullptr, 10);
      if (!is_interval(flag)) recipe.settings[flag] = entry.values.front();
    }
  }
  return recipe;
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all{recipe_of("quickstart_bigram.toml", ""), recipe_of("quickstart_text.toml", ""),
                                       recipe_of("text.toml", "cpu"), recipe_of("text.toml", "gpu")};
  return all;
}

bool matches(const Run& run, const Recipe& recipe) {
  return std::all_of(recipe.settings.begin(), recipe.settings.end(), [&](const auto& setting) {
    const auto found = run.settings.find(setting.first);
    return found != run.settings.end() && found->second == setting.second;
  });
}

}  // namespace

std::int64_t planned_steps(const Run& run) {
  std::int64_t above = 0, most = 0;
  for (const Recipe& recipe : recipes()) {
    if (!matches(run, recipe)) continue;
    most = std::max(most, recipe.steps);
    if (recipe.steps >= run.steps && (above == 0 || recipe.steps < above)) above = recipe.steps;
  }
  return std::max(run.steps, above > 0 ? above : most);
}

}  // namespace sink::report
