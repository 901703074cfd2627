#include "tools/sweep/study_runs.h"

#include <algorithm>
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
    for (const auto& [flag, value] : request.changes) set(common_, flag, value);
    if (common_.task != "text") common_.data.clear();
  }

  std::vector<StudyArm> arms() {
    for (const RunProduct& product : study_.runs)
      if (product.size.empty() || product.size == request_.size) add(product);
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

  void add(const RunProduct& product) {
    std::vector<std::size_t> lengths{product.ablations.size()};
    std::size_t count = product.ablations.size();
    for (const auto& [flag, values] : product.settings) {
      lengths.push_back(values.size());
      count *= values.size();
    }
    for (std::size_t n = 0; n < count; ++n) {
      const std::vector<std::size_t> chosen = choice(n, lengths);
      StudyArm arm;
      arm.name = product.ablations[chosen[0]];
      arm.config = common_;
      for (std::size_t s = 0; s < product.settings.size(); ++s) {
        const auto& [flag, values] = product.settings[s];
        const Setting<RunConfig>* setting = setting_named(run_config_table(), flag);
        set(arm.config, flag, values[chosen[s + 1]]);
        if (setting->value(arm.config) != setting->value(common_))
          arm.name += "-" + flag + "-" + in_name(plain_text(setting->value(arm.config)));
      }
      names_.insert(arm.name);
      if (!is_wanted(arm.name, product.ablations[chosen[0]])) continue;
      try {
        complete(product.ablations[chosen[0]], product.study.empty() ? nullptr : &product.study[n], arm);
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
    bool wanted = request_.only.empty();
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
  std::vector<StudyArm> arms_;
  std::set<std::string> names_;  // of all arms
  std::set<std::string> met_;    // of request_.only
  std::vector<std::string> problems_;
};

}  // namespace

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
      runs.push_back({arm, config});
    }
  return runs;
}

}  // namespace sink
