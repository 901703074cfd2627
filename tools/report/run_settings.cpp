#include "tools/report/run_settings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

namespace sink::report {
namespace {

constexpr std::size_t kMostNamed = 5;

// Settings without which a run would give the same numbers, and the seed.
const std::set<std::string>& left_out() {
  static const std::set<std::string> keys{"seed",      "eval-every", "eval-sequences", "checkpoint-every",
                                          "log-every", "threads",    "nan-patience",   "ablation",
                                          "policies",  "recompute",  "graph"};
  return keys;
}

std::string spoken(std::string key) {
  std::replace(key.begin(), key.end(), '-', ' ');
  return key;
}

std::string path_text(const std::string& path) {
  return path.empty() ? "" : std::filesystem::path(path + "/").lexically_normal().parent_path().string();
}

std::string setting(const Run& run, const char* key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? "" : found->second;
}

// Only what differs from training's own, so that a run is not named by the same thing twice.
Settings measurement_of(const Run& run) {
  Settings out;
  const Evaluation& e = *run.evaluation;
  const auto add = [&](const char* name, const std::string& measured, const std::string& of_training) {
    if (!measured.empty() && measured != of_training) out[name] = measured;
  };
  add("input", e.input, "text");
  if (e.input != "text") out["input seed"] = std::to_string(e.input_seed);
  if (e.input_sha256.empty())
    add("measured data", path_text(e.data), path_text(setting(run, "data")));
  else
    out["measured data"] = e.data + " (" + e.input_sha256.substr(0, 8) + ")";
  add("measured context", run.context > 0 ? std::to_string(run.context) : "", setting(run, "context"));
  add("measured precision", run.precision, setting(run, "precision"));
  add("measured at step", std::to_string(run.step), std::to_string(run.steps));
  add("measured sequences", std::to_string(run.sequences), "");
  add("commit", run.commit, "");
  return out;
}

bool same_data(const Identity& a, const Identity& b) {
  if (!a.data_sha256.empty() && !b.data_sha256.empty()) return a.data_sha256 == b.data_sha256;
  const auto path = [](const Identity& identity) {
    const auto found = identity.training.find("data");
    return found == identity.training.end() ? std::string() : found->second;
  };
  return path(a) == path(b);
}

}  // namespace

Identity identity_of(const Run& run) {
  Identity identity;
  identity.data_sha256 = run.data_sha256;
  identity.known = !run.settings.empty() && !run.ablation.empty();
  identity.training["ablation"] = run.ablation;
  std::istringstream words(run.policies);
  for (std::string word; words >> word;)
    identity.training["policy " + word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  for (const auto& [key, value] : run.settings)
    if (!left_out().contains(key)) identity.training[spoken(key)] = key == "data" ? path_text(value) : value;
  if (run.evaluation && run.finished) identity.measurement = measurement_of(run);
  return identity;
}

bool same_but_seed(const Run& a, const Run& b) {
  Identity one = identity_of(a), other = identity_of(b);
  if (!same_data(one, other)) return false;
  one.training.erase("data");
  other.training.erase("data");
  return one.known && other.known && one.training == other.training &&
         (!a.finished || !b.finished || one.measurement == other.measurement);
}

std::vector<std::string> differences(const std::vector<const Run*>& runs) {
  std::vector<Identity> all;
  std::map<std::string, bool> names;  // and whether it is of the measurement
  for (const Run* run : runs) {
    all.push_back(identity_of(*run));
    for (const auto& [name, value] : all.back().training) names.emplace(name, false);
    for (const auto& [name, value] : all.back().measurement) names[name] = true;
  }
  const auto value = [&](std::size_t run, const std::string& name) {
    const Settings& settings = names.at(name) ? all[run].measurement : all[run].training;
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  const auto comparable = [&](std::size_t a, std::size_t b, const std::string& name) {
    if (name == "input seed" && value(a, "input") != value(b, "input")) return false;
    if (names.at(name)) return runs[a]->finished && runs[b]->finished;
    return all[a].known && all[b].known && (!name.starts_with("policy ") || runs[a]->ablation == runs[b]->ablation);
  };
  const auto same = [&](std::size_t a, std::size_t b, const std::string& name) {
    return name == "data" ? same_data(all[a], all[b]) : value(a, name) == value(b, name);
  };
  const auto varies = [&](const std::string& name) {
    for (std::size_t a = 0; a < runs.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (comparable(a, b, name) && !same(a, b, name)) return true;
    return false;
  };
  std::vector<std::string> out(runs.size());
  std::vector<std::size_t> named(runs.size(), 0);
  // What was read, first; then training, how it was measured, and by which build.
  const auto rank = [&](const std::string& name) {
    return name.starts_with("input") ? 0 : !names.at(name) ? 1 : name == "commit" ? 3 : 2;
  };
  std::vector<std::string> order;
  for (const auto& [name, of_measurement] : names)
    if (name != "ablation" && varies(name)) order.push_back(name);
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  for (const std::string& name : order) {
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const std::string text = value(run, name);
      if (text.empty() && (names.at(name) || !all[run].known)) continue;
      if (named[run]++ >= kMostNamed) continue;
      if (!out[run].empty()) out[run] += ", ";
      out[run] += name == "input" ? text + " input" : name + " " + (text.empty() ? "none" : text);
      if (name == "data" && !all[run].data_sha256.empty()) out[run] += " (" + all[run].data_sha256.substr(0, 8) + ")";
    }
  }
  for (std::size_t run = 0; run < runs.size(); ++run)
    if (named[run] > kMostNamed)
      out[run] += " and " + std::to_string(named[run] - kMostNamed) +
                  (named[run] == kMostNamed + 1 ? " setting more" : " settings more");
  return out;
}

std::int64_t whole_setting(const Run& run, const char* key) {
  return std::max<std::int64_t>(0, std::strtoll(setting(run, key).c_str(), nullptr, 10));
}

}  // namespace sink::report
