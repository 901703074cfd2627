#include "tools/sweep/study_runs.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/check.h"
#include "model/all_ablations.h"
#include "train/run_config_table.h"

namespace sink {
namespace {

constexpr std::size_t kMostRefusals = 20;

void set(RunConfig& config, const std::string& flag, const std::string& value) {
  setting_named(run_config_table(), flag)->set(config, value, flag);
}

// The n-th choice out of every list, the last list changing fastest.
std::vector<std::size_t> choice(std::size_t n, const std::vector<std::size_t>& lengths) {
  std::vector<std::size_t> chosen(lengths.size());
  for (std::size_t list = lengths.size(); list-- > 0; n /= lengths[list]) chosen[list] = n % lengths[list];
  return chosen;
}

// A value inside a name of a folder.
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
      for (const RunProduct& product : study_.runs)
        if (product.size.empty() || product.size == request_.size) add(product);
    } while (adds_starts());
    if (!names_.contains(study_.baseline))
      add_problem("baseline = \"" + study_.baseline + "\" is none of the runs, which are " + names());
    for (const std::string& name : request_.only)
      if (!matched_.contains(name)) add_problem("--only " + name + " is none of the runs, which are " + names());
    if (problems_.empty()) return std::move(groups_);
    std::string text = study_.path;
    for (const std::string& problem : problems_) text += (&problem == &problems_.front() ? ": " : "; ") + problem;
    throw Error(text, Exit::usage);
  }

 private:
  void add_problem(const std::string& what) {
    if (problems_.size() < kMostRefusals && std::find(problems_.begin(), problems_.end(), what) == problems_.end())
      problems_.push_back(what);
  }

  std::string names() const {
    std::string text;
    for (const std::string& name : names_) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  // What a group starts from is wanted with it; true where some were not, and now are.
  bool adds_starts() {
    const std::size_t before = starts_.size();
    for (const StudyGroup& group : groups_)
      if (!group.from.empty()) starts_.insert(group.from);
    return !request_.only.empty() && starts_.size() > before;
  }

  // What a run of this product begins with: an ablation and the common settings, or another run and its own.
  struct Base {
    std::string name, ablation, from;
    RunConfig config;
    std::int64_t planned_steps;
  };
  Base base_of(const RunProduct& product, std::size_t chosen) {
    if (product.from.empty())
      return {product.ablations[chosen], product.ablations[chosen], "", common_, planned_steps_};
    const std::string& from = product.from[chosen];
    auto start = bases_.find(from);
    if (start == bases_.end())
      throw Error("it starts from `" + from + "`, which is none of the runs before it: " + names(), Exit::usage);
    Base base{from + "-tuned", start->second.ablation, from, start->second.config, start->second.planned_steps};
    if (base.config.task != "text") return base;
    base.config.data = request_.chat;
    if (request_.chat.empty())
      throw Error("what `" + from + "` is tuned on is given by --chat: a folder that `prepare --chat` made",
                  Exit::usage);
    return base;
  }

  void add(const RunProduct& product) {
    std::vector<std::size_t> lengths{std::max(product.ablations.size(), product.from.size())};
    std::size_t count = lengths.front();
    for (const auto& [flag, values] : product.settings) {
      lengths.push_back(values.size());
      count *= values.size();
    }
    for (std::size_t n = 0; n < count; ++n) {
      const std::vector<std::size_t> chosen = choice(n, lengths);
      Base base;
      try {
        base = base_of(product, chosen[0]);
      } catch (const Error& error) {
        add_problem("line " + std::to_string(product.line) + ": " + error.what());
        continue;
      }
      StudyGroup group;
      group.name = base.name;
      group.config = base.config;
      group.from = base.from;
      group.planned_steps = base.planned_steps;
      for (std::size_t s = 0; s < product.settings.size(); ++s) {
        const auto& [flag, values] = product.settings[s];
        const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
        set(group.config, flag, values[chosen[s + 1]]);
        if (setting->flag == "steps") group.planned_steps = group.config.steps;
        if (base.from.empty() ? setting->value(group.config) != setting->value(common_) : values.size() > 1)
          group.name += "-" + flag + "-" + in_name(plain_text(setting->value(group.config)));
      }
      names_.insert(group.name);
      bases_.emplace(group.name, Base{group.name, base.ablation, base.from, group.config, group.planned_steps});
      if (!is_wanted(group.name, base.ablation)) continue;
      try {
        complete(base.ablation, product.study.empty() ? nullptr : &product.study[n], group);
      } catch (const Error& error) { add_problem("line " + std::to_string(product.line) + ": " + error.what()); }
    }
  }

  // Ablation and row; refuses what cannot be trained.
  void complete(const std::string& ablation, const std::string* id, StudyGroup& group) {
    group.ablation = ablation_named(ablation);
    group.config.ablation = group.ablation.name;
    group.config.policies = group.ablation.policies;
    group.row = row_of(ablation, group.name == ablation, id);
    RunConfig config = group.config;
    config.run = "run";
    require_consistent(config, group.ablation);
    auto same =
        std::find_if(groups_.begin(), groups_.end(), [&](const StudyGroup& other) { return other.name == group.name; });
    if (same == groups_.end()) {
      groups_.push_back(group);
    } else if (to_toml(same->config) != to_toml(group.config)) {
      throw Error("two different runs are called " + group.name, Exit::usage);
    } else if (same->row.id.empty()) {
      same->row = group.row;
    }
  }

  static StudyRow row_of(const std::string& ablation, bool is_plain, const std::string* id) {
    if (!id) return is_plain ? study_row_of(ablation) : StudyRow{};
    if (id->empty()) return {};
    for (const StudyRow& row : study_rows())
      if (row.id == *id) return row;
    std::vector<std::string> ids;
    for (const StudyRow& row : study_rows()) ids.push_back(row.id);
    throw Error("the paper has no row `" + *id + "`" + did_you_mean(*id, ids), Exit::usage);
  }

  // Whether --only asks for it, by its name or its ablation's; the others need not be known to this build.
  bool is_wanted(const std::string& group, const std::string& ablation) {
    bool wanted = request_.only.empty() || starts_.contains(group);
    for (const std::string& name : request_.only)
      if (name == group || name == ablation) {
        matched_.insert(name);
        wanted = true;
      }
    return wanted;
  }

  const StudyFile& study_;
  const StudyRequest& request_;
  RunConfig common_;
  std::int64_t planned_steps_ = 0;  // of common_, before changes
  std::vector<StudyGroup> groups_;
  std::set<std::string> names_;        // of all groups
  std::set<std::string> matched_;      // of request_.only
  std::set<std::string> starts_;       // groups that wanted ones start from
  std::map<std::string, Base> bases_;  // every group so far, by its name
  std::vector<std::string> problems_;
};

}  // namespace

Reading StudyGroup::reading() const {
  return reading_of(
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
