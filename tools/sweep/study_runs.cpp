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

  std::vector<StudyArm> arms() {
    do {
      arms_.clear();
      for (const RunProduct& product : study_.runs)
        if (product.size.empty() || product.size == request_.size) add(product);
    } while (lacks_a_start());
    if (!names_.contains(study_.baseline))
      objects("baseline = \"" + study_.baseline + "\" is none of the runs, which are " + names());
    for (const std::string& name : request_.only)
      if (!met_.contains(name)) objects("--only " + name + " is none of the runs, which are " + names());
    if (problems_.empty()) return std::move(arms_);
    std::string text = study_.path;
    for (const std::string& problem : problems_) text += (&problem == &problems_.front() ? ": " : "; ") + problem;
    throw Error(text, Exit::usage);
  }

 private:
  void objects(const std::string& what) {
    if (problems_.size() < kMostRefusals && std::find(problems_.begin(), problems_.end(), what) == problems_.end())
      problems_.push_back(what);
  }

  std::string names() const {
    std::string text;
    for (const std::string& name : names_) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  // What an arm starts from is wanted with it; true where some were not, and now are.
  bool lacks_a_start() {
    const std::size_t before = starts_.size();
    for (const StudyArm& arm : arms_)
      if (!arm.from.empty()) starts_.insert(arm.from);
    return !request_.only.empty() && starts_.size() > before;
  }

  // What a run of this product begins with: an ablation and the common settings, or another run and its own.
  struct Begin {
    std::string name, ablation, from;
    RunConfig config;
    std::int64_t planned_steps;
  };
  Begin begin_of(const RunProduct& product, std::size_t chosen) {
    if (product.from.empty())
      return {product.ablations[chosen], product.ablations[chosen], "", common_, planned_steps_};
    const std::string& from = product.from[chosen];
    auto start = begun_.find(from);
    if (start == begun_.end())
      throw Error("it starts from `" + from + "`, which is none of the runs before it: " + names(), Exit::usage);
    Begin begin{from + "-tuned", start->second.ablation, from, start->second.config, start->second.planned_steps};
    if (begin.config.task != "text") return begin;
    begin.config.data = request_.chat;
    if (request_.chat.empty())
      throw Error("what `" + from + "` is tuned on is given by --chat: a folder that `prepare --chat` made",
                  Exit::usage);
    return begin;
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
      Begin begin;
      try {
        begin = begin_of(product, chosen[0]);
      } catch (const Error& error) {
        objects("line " + std::to_string(product.line) + ": " + error.what());
        continue;
      }
      StudyArm arm;
      arm.name = begin.name;
      arm.config = begin.config;
      arm.from = begin.from;
      arm.planned_steps = begin.planned_steps;
      for (std::size_t s = 0; s < product.settings.size(); ++s) {
        const auto& [flag, values] = product.settings[s];
        const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
        set(arm.config, flag, values[chosen[s + 1]]);
        if (setting->flag == "steps") arm.planned_steps = arm.config.steps;
        if (begin.from.empty() ? setting->value(arm.config) != setting->value(common_) : values.size() > 1)
          arm.name += "-" + flag + "-" + in_name(plain_text(setting->value(arm.config)));
      }
      names_.insert(arm.name);
      begun_.emplace(arm.name, Begin{arm.name, begin.ablation, begin.from, arm.config, arm.planned_steps});
      if (!is_wanted(arm.name, begin.ablation)) continue;
      try {
        complete(begin.ablation, product.study.empty() ? nullptr : &product.study[n], arm);
      } catch (const Error& error) { objects("line " + std::to_string(product.line) + ": " + error.what()); }
    }
  }

  // Ablation and row; refuses what cannot be trained.
  void complete(const std::string& ablation, const std::string* id, StudyArm& arm) {
    arm.ablation = ablation_named(ablation);
    arm.config.ablation = arm.ablation.name;
    arm.config.policies = arm.ablation.policies;
    arm.row = row_of(ablation, arm.name == ablation, id);
    RunConfig config = arm.config;
    config.run = "run";
    require_consistent(config, arm.ablation);
    auto same = std::find_if(arms_.begin(), arms_.end(), [&](const StudyArm& other) { return other.name == arm.name; });
    if (same == arms_.end()) {
      arms_.push_back(arm);
    } else if (to_toml(same->config) != to_toml(arm.config)) {
      throw Error("two different runs are called " + arm.name, Exit::usage);
    } else if (same->row.id.empty()) {
      same->row = arm.row;
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
  bool is_wanted(const std::string& arm, const std::string& ablation) {
    bool wanted = request_.only.empty() || starts_.contains(arm);
    for (const std::string& name : request_.only)
      if (name == arm || name == ablation) {
        met_.insert(name);
        wanted = true;
      }
    return wanted;
  }

  const StudyFile& study_;
  const StudyRequest& request_;
  RunConfig common_;
  std::int64_t planned_steps_ = 0;  // of common_, before changes
  std::vector<StudyArm> arms_;
  std::set<std::string> names_;         // of all arms
  std::set<std::string> met_;           // of request_.only
  std::set<std::string> starts_;        // arms that wanted ones start from
  std::map<std::string, Begin> begun_;  // every arm so far, by its name
  std::vector<std::string> problems_;
};

}  // namespace

Reading StudyArm::reading() const {
  return reading_of(
      [&](const std::string& flag) { return plain_text(setting_named(run_config_table(), flag)->value(config)); });
}

std::vector<StudyArm> arms_of(const StudyFile& study, const StudyRequest& request) {
  return Expansion(study, request).arms();
}

std::vector<StudyRun> runs_of(const StudyFile& study, const StudyRequest& request, const std::vector<StudyArm>& arms) {
  std::vector<StudyRun> runs;
  for (std::uint64_t seed : request.seeds.empty() ? study.seeds : request.seeds)
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      RunConfig config = arms[arm].config;
      config.seed = seed;
      config.run = request.out + "/" + arms[arm].name + "-" + std::to_string(seed);
      config.resume = "auto";
      std::optional<std::size_t> from;
      for (std::size_t other = 0; other < arm && !arms[arm].from.empty(); ++other)
        if (arms[other].name == arms[arm].from) from = runs.size() - arm + other;
      if (from) config.initial = runs[*from].config.run + "/checkpoint.h5";
      runs.push_back({arm, config, from});
    }
  return runs;
}

}  // namespace sink
