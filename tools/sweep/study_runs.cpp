#include "tools/sweep/study_runs.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "model/all_ablations.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

constexpr std::size_t kMaxProblems = 20;

void set(RunConfig& config, const std::string& flag, const std::string& value) {
  setting_named(run_config_table(), flag)->set(config, value, flag);
}

// The n-th combination of one index per list, the last list changing fastest.
std::vector<std::size_t> combination(std::size_t n, const std::vector<std::size_t>& lengths) {
  std::vector<std::size_t> chosen(lengths.size());
  for (std::size_t list = lengths.size(); list-- > 0; n /= lengths[list]) chosen[list] = n % lengths[list];
  return chosen;
}

// A value as part of a folder's name.
std::string in_name(std::string value) {
  std::replace_if(
      value.begin(), value.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-'; }, '_');
  if (value.ends_with(".0")) value.resize(value.size() - 2);
  return value.empty() ? "none" : value;
}

class Expansion {
 public:
  Expansion(const StudyFile& study, const StudyRequest& request) : study_(study), request_(request) {
    common_.data = request.data;
    common_.threads = 1;
    for (const auto& [flag, value] : request.size == "gpu" ? study.gpu : study.cpu) set(common_, flag, value);
    planned_steps_ = common_.steps;
    for (const auto& [flag, value] : request.changes) set(common_, flag, value);
    if (common_.task != "text") common_.data.clear();
  }

  std::vector<StudyGroup> groups() {
    do {
      groups_.clear();
      unread_.clear();
      for (const RunGrid& grid : study_.runs)
        if (grid.size.empty() || grid.size == request_.size) add(grid);
    } while (adds_starts());
    for (const auto& [setting, why] : unread_)
      if (!why.empty()) add_problem(setting + why);
    if (names_.empty() && problems_.empty())
      add_problem("no run is of --size " + request_.size + ": every [[runs]] has another size; give that one");
    if (!names_.empty() && !names_.contains(study_.baseline))
      add_problem("baseline = \"" + study_.baseline + "\" must be one of the runs: " + names());
    for (const std::string& name : request_.only)
      if (!names_.empty() && !matched_.contains(name))
        add_problem("--only " + name + " must be one of the runs: " + names());
    if (problems_.empty()) return std::move(groups_);
    throw Error(study_.path + ": " + joined(problems_, "; "), Exit::usage);
  }

 private:
  void add_problem(const std::string& what) {
    if (problems_.size() < kMaxProblems && std::find(problems_.begin(), problems_.end(), what) == problems_.end())
      problems_.push_back(what);
  }

  std::string names() const { return joined(names_, ", "); }

  // Adds the groups from which the selected ones start to the selection; true if it grew.
  bool adds_starts() {
    const std::size_t before = starts_.size();
    for (const StudyGroup& group : groups_)
      if (!group.from.empty()) starts_.insert(group.from);
    return !request_.only.empty() && starts_.size() > before;
  }

  // The group to which a grid adds its settings: an ablation with the common settings, or another run.
  StudyGroup base_of(const RunGrid& grid, std::size_t chosen) {
    StudyGroup base;
    if (grid.from.empty()) {
      base.name = base.ablation.name = grid.ablations[chosen];
      base.config = common_;
      base.planned_steps = planned_steps_;
      return base;
    }
    const std::string& from = grid.from[chosen];
    const auto start = bases_.find(from);
    if (start == bases_.end())
      throw Error("from = `" + from + "` must be one of the runs before it: " + names(), Exit::usage);
    base = start->second;
    base.name = from + "-tuned";
    base.from = from;
    if (base.config.task != "text") return base;
    base.config.data = request_.chat;
    if (request_.chat.empty())
      throw Error("--chat is needed to tune `" + from + "`: give a folder that `prepare --chat` made", Exit::usage);
    return base;
  }

  void add(const RunGrid& grid) {
    std::vector<std::size_t> lengths{std::max(grid.ablations.size(), grid.from.size())};
    std::size_t count = lengths.front();
    for (const auto& [flag, values] : grid.settings) {
      lengths.push_back(values.size());
      count *= values.size();
    }
    for (std::size_t n = 0; n < count; ++n) try {
        const std::vector<std::size_t> chosen = combination(n, lengths);
        StudyGroup group = base_of(grid, chosen[0]);
        for (std::size_t s = 0; s < grid.settings.size(); ++s) {
          const auto& [flag, values] = grid.settings[s];
          const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
          set(group.config, flag, values[chosen[s + 1]]);
          if (setting->flag == "steps") group.planned_steps = group.config.steps;
          if (group.from.empty() ? setting->value(group.config) != setting->value(common_) : values.size() > 1)
            group.name += "-" + flag + "-" + in_name(plain_text(setting->value(group.config)));
        }
        names_.insert(group.name);
        bases_.emplace(group.name, group);
        if (is_selected(group.name, group.ablation.name))
          complete(grid, grid.study.empty() ? nullptr : &grid.study[n], std::move(group));
        else
          for (const auto& [flag, values] : grid.settings) unread_[place_of(grid) + flag].clear();
      } catch (const Error& error) { add_problem(place_of(grid) + error.what()); }
  }

  static std::string place_of(const RunGrid& grid) { return "line " + std::to_string(grid.line) + ": "; }

  // A setting that no run of its list reads, or of the study for --set, would do nothing.
  void note_reader(const std::string& place, const std::string& flag, const StudyGroup& group) {
    const auto [unread, is_first] = unread_.try_emplace(place + flag);
    if (!is_first && unread->second.empty()) return;  // another run reads it
    unread->second.clear();
    try {
      require_read([&](const std::string& other) { return other == flag; }, group.config, group.config.policies);
    } catch (const Error& error) { unread->second = std::string(": ") + error.what(); }
  }

  // Adds the ablation and the paper's row, and the group to groups_. Throws Error if it cannot be trained.
  void complete(const RunGrid& grid, const std::string* id, StudyGroup group) {
    group.row = row_of(group.ablation.name, group.name == group.ablation.name, id);
    group.ablation = ablation_named(group.ablation.name);
    group.config.ablation = group.ablation.name;
    group.config.policies = group.ablation.policies;
    RunConfig config = group.config;
    config.run = "run";
    require_consistent(config, group.ablation);
    for (const auto& [flag, value] : request_.changes) note_reader("--set ", flag, group);
    for (const auto& [flag, values] : grid.settings) note_reader(place_of(grid), flag, group);
    auto same =
        std::find_if(groups_.begin(), groups_.end(), [&](const StudyGroup& other) { return other.name == group.name; });
    if (same == groups_.end()) {
      groups_.push_back(std::move(group));
    } else if (to_toml(same->config) != to_toml(group.config)) {
      throw Error("two different runs have the name " + group.name, Exit::usage);
    } else if (same->row.id.empty()) {
      same->row = group.row;
    }
  }

  static PaperRow row_of(const std::string& ablation, bool is_plain, const std::string* id) {
    if (!id) return is_plain ? paper_row_of(ablation) : PaperRow{};
    if (id->empty()) return {};
    for (const PaperRow& row : paper_rows())
      if (row.id == *id) return row;
    std::vector<std::string> ids;
    for (const PaperRow& row : paper_rows()) ids.push_back(row.id);
    throw Error("the paper has no row `" + *id + "`" + did_you_mean(*id, ids), Exit::usage);
  }

  // Whether --only selects it, by its name or its ablation's. This build need not know the ablations of the others.
  bool is_selected(const std::string& group, const std::string& ablation) {
    bool selected = request_.only.empty() || starts_.contains(group);
    for (const std::string& name : request_.only)
      if (name == group || name == ablation) {
        matched_.insert(name);
        selected = true;
      }
    return selected;
  }

  const StudyFile& study_;
  const StudyRequest& request_;
  RunConfig common_;
  std::int64_t planned_steps_ = 0;  // of common_, before changes
  std::vector<StudyGroup> groups_;
  std::set<std::string> names_;                // of all groups
  std::set<std::string> matched_;              // of request_.only
  std::set<std::string> starts_;               // groups from which selected ones start
  std::map<std::string, StudyGroup> bases_;    // all groups so far by name, before their settings are completed
  std::map<std::string, std::string> unread_;  // settings of --set and of a list of runs; why no run reads it, or ""
  std::vector<std::string> problems_;
};

}  // namespace

InputKind StudyGroup::input_kind() const {
  return input_kind_of(
      [&](const std::string& flag) { return plain_text(setting_named(run_config_table(), flag)->value(config)); });
}

std::vector<StudyGroup> groups_of(const StudyFile& study, const StudyRequest& request) {
  return Expansion(study, request).groups();
}

std::vector<StudyRun> runs_of(const StudyFile& study, const StudyRequest& request,
                              const std::vector<StudyGroup>& groups) {
  std::vector<StudyRun> runs;
  for (std::uint64_t seed : request.seeds.empty() ? study.seeds : request.seeds)
    for (std::size_t group = 0; group < groups.size(); ++group) {
      RunConfig config = groups[group].config;
      config.seed = seed;
      config.run = request.out + "/" + groups[group].name + "-" + std::to_string(seed);
      config.resume = "auto";
      std::optional<std::size_t> from;
      for (std::size_t other = 0; other < group && !groups[group].from.empty(); ++other)
        if (groups[other].name == groups[group].from) from = runs.size() - group + other;
      if (from) config.initial = runs[*from].config.run + "/checkpoint.h5";
      runs.push_back({group, config, from});
    }
  return runs;
}

}  // namespace sink
