// Gathers the numbers for the charts and maps, thinned and cut so that one page stays small.
#include "tools/report/page_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "engine/io/html.h"
#include "tools/report/loss_floor.h"

namespace sink::report {
namespace {

using nlohmann::json;

constexpr int kDigits = 7;

// Shorter as text, and more than anyone sees.
double six_digits(double value) {
  if (!std::isfinite(value)) return kNaN;
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

Row six_digits(Row values) {
  for (double& value : values) value = six_digits(value);
  return values;
}

Row cut(const Row& row, std::size_t columns) {
  return six_digits(Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(std::min(columns, row.size()))));
}

json cut(const Table& table, std::size_t columns) {
  json rows = json::array();
  for (const Row& row : table) rows.push_back(cut(row, columns));
  return rows;
}

// Rows of steps, each once: curves of one run, and runs of one study, mostly share them.
class Steps {
 public:
  std::size_t index(const Row& x) {
    const auto [at, is_new] = indices_.emplace(x, rows_.size());
    if (is_new) rows_.push_back(x);
    return at->second;
  }
  const json& rows() const { return rows_; }

 private:
  std::map<Row, std::size_t> indices_;
  json rows_ = json::array();
};

json curves_json(const Curves& curves, std::size_t points, Steps& steps) {
  json out = json::object();
  for (const char* name : {"train_loss", "val_loss", "grad_norm", "sink_1", "sink_1_raw", "alpha_1", "alpha_1_raw",
                           "sink_star", "sink_star_raw", "alpha_star", "alpha_star_raw"}) {
    const auto found = curves.find(name);
    if (found == curves.end()) continue;
    Row x, y;
    const Row& step = curves.at("step");
    const bool every_step = std::string(name) == "train_loss" || std::string(name) == "grad_norm";
    for (std::size_t i = 0; i < step.size(); ++i) {
      // Between two evaluations there is nothing to draw; a train loss that is missing is a gap.
      if (!every_step && !std::isfinite(found->second[i])) continue;
      x.push_back(step[i]);
      y.push_back(found->second[i]);
    }
    if (x.empty()) continue;
    const ThinCurve curve = thin(x, y, points);
    out[name] = {{"x", steps.index(curve.x)}, {"y", six_digits(curve.y)}};
    if (curve.least.empty()) continue;
    out[name]["least"] = six_digits(curve.least);
    out[name]["greatest"] = six_digits(curve.greatest);
  }
  return out;
}

void add_evaluation(const Run& run, const Evaluation& e, const PageLimits& limits, json& out) {
  out["final"] = {{"val_loss", e.get("val_loss")},
                  {"sink_1", e.sink_at(0.3, false)},
                  {"sink_1_raw", e.sink_at(0.3, true)},
                  {"alpha_1", e.get("alpha_1")},
                  {"alpha_1_raw", e.get("alpha_1_raw")}};
  const auto row = [&](const char* name, const Row& values) {
    if (!values.empty()) out[name] = cut(values, limits.positions);
  };
  const auto table = [&](const char* name, const Table& values) {
    if (!values.empty()) out[name] = cut(values, limits.positions);
  };
  row("alpha_k", e.alpha_k);
  row("alpha_k_raw", e.alpha_k_raw);
  row("loss_position", e.loss_position);
  table("layer_head", e.alpha_1_layer_head);
  table("layer_head_raw", e.alpha_1_layer_head_raw);
  table("star_head", e.alpha_star_layer_head);
  table("star_head_raw", e.alpha_star_layer_head_raw);
  table("value_share", e.value_share_layer_head);
  table("hidden_norm", e.hidden_norm);
  table("key_norm", e.key_norm);
  table("value_norm", e.value_norm);
  table("hidden_kurtosis", e.hidden_kurtosis);
  table("hidden_largest", e.hidden_largest);
  if (e.maps) out["maps"] = maps_json(run, limits.maps);
}

json run_json(const Run& run, const LineStyle& style, const PageLimits& limits, Steps& steps) {
  json out{{"name", run.name},
           {"colour", style.colour},
           {"dash", style.dash},
           {"mark", run.mark()},
           {"curves", curves_json(run.curves, limits.points, steps)},
           {"same", run.rows_sum_to_one()}};
  if (const auto floor = loss_floor(run))
    out["floor"] = {{"train_loss", floor->train}, {"val_loss", floor->validation}};
  if (run.evaluation) add_evaluation(run, *run.evaluation, limits, out);
  return out;
}

// Settings in which all runs agree are said once.
void add_settings(const std::vector<Run>& runs, json& out) {
  std::vector<std::map<std::string, std::string>> all;
  std::set<std::string> names;
  for (const Run& run : runs) {
    all.push_back(filter_settings(run));
    for (const auto& [name, value] : all.back()) names.insert(name);
  }
  out["common"] = json::object();
  for (json& run : out["runs"]) run["settings"] = json::object();
  for (const std::string& name : names) {
    const auto first = all.front().find(name);
    const bool common = first != all.front().end() && std::all_of(all.begin(), all.end(), [&](const auto& settings) {
                          const auto found = settings.find(name);
                          return found != settings.end() && found->second == first->second;
                        });
    if (common) out["common"][name] = first->second;
    for (std::size_t i = 0; i < runs.size() && !common; ++i)
      if (const auto found = all[i].find(name); found != all[i].end()) out["runs"][i]["settings"][name] = found->second;
  }
}

}  // namespace

std::vector<LineStyle> line_styles(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  std::vector<std::string> labels;
  std::vector<LineStyle> styles(runs.size());
  for (const Group& group : groups) {
    int lines[kColours] = {};  // so far, of each colour
    for (const Arm& arm : group.arms) {
      auto label = std::find(labels.begin(), labels.end(), arm.label);
      if (label == labels.end()) label = labels.insert(labels.end(), arm.label);
      const int colour = static_cast<int>(label - labels.begin()) % kColours;
      for (const Run* run : arm.runs)
        styles[static_cast<std::size_t>(run - runs.data())] = {colour, lines[colour]++ % kDashes};
    }
  }
  return styles;
}

ThinCurve thin(const Row& x, const Row& y, std::size_t points) {
  if (x.size() <= points) return {x, y, {}, {}};
  ThinCurve out;
  for (std::size_t bucket = 0; bucket < points; ++bucket) {
    const std::size_t begin = bucket * x.size() / points, end = (bucket + 1) * x.size() / points;
    double sum = 0, least = kNaN, greatest = kNaN;
    int count = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(y[i])) continue;
      sum += y[i];
      ++count;
      least = std::fmin(least, y[i]);  // a NaN gives way
      greatest = std::fmax(greatest, y[i]);
    }
    out.x.push_back(x[end - 1]);
    out.y.push_back(count > 0 ? sum / count : kNaN);
    out.least.push_back(least);
    out.greatest.push_back(greatest);
  }
  return out;
}

std::string task_name(const std::string& task) {
  return task == "text" ? "Text" : task == "bigram-backcopy" ? "Bigram-Backcopy" : task;
}

std::map<std::string, std::string> filter_settings(const Run& run) {
  std::map<std::string, std::string> out = run.settings;
  std::istringstream words(run.policies);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) out.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  out.erase("policies");
  out["name"] = run.name;
  out["task"] = run.task;
  if (!run.ablation.empty()) out["ablation"] = run.ablation;
  out["seed"] = std::to_string(run.seed);
  out["finished"] = run.finished ? "true" : "false";
  return out;
}

json page_data(const std::vector<Run>& runs, const std::vector<Group>& groups, const PageLimits& limits) {
  json out{{"groups", json::array()}, {"runs", json::array()}};
  const std::vector<LineStyle> styles = line_styles(runs, groups);
  Steps steps;
  for (std::size_t i = 0; i < runs.size(); ++i) out["runs"].push_back(run_json(runs[i], styles[i], limits, steps));
  out["xs"] = steps.rows();
  if (!runs.empty()) add_settings(runs, out);
  const auto index = [&](const Run* run) { return run - runs.data(); };
  for (const Group& group : groups) {
    json indices = json::array(), even = json::array(), arms = json::array();
    for (const Run* run : group.runs) indices.push_back(index(run));
    for (const Arm& arm : group.arms) {
      json members = json::array();
      for (const Run* run : arm.runs) members.push_back(index(run));
      arms.push_back({{"label", arm.label}, {"runs", members}});
    }
    for (std::int64_t k = 1; k <= 10 && std::isfinite(group.even(k)); ++k) even.push_back(group.even(k));
    out["groups"].push_back({{"task", group.task}, {"runs", indices}, {"arms", arms}, {"even", even}});
  }
  round_numbers(out, kDigits);
  return out;
}

std::string page_json(const std::vector<Run>& runs, const std::vector<Group>& groups, const PageLimits& limits) {
  return script_json(page_data(runs, groups, limits), kDigits);
}

PageLimits page_limits(const std::vector<Run>& runs, const std::vector<Group>& groups, std::size_t bytes) {
  PageLimits limits;
  std::size_t map_bytes = kMapBytes;
  for (int halving = 0;; ++halving) {
    limits.maps = map_limits(runs, map_bytes);
    if (halving == 8 || page_json(runs, groups, limits).size() <= bytes) return limits;
    map_bytes /= 2;
    if (halving % 2 == 0) continue;
    limits.points = std::max<std::size_t>(40, limits.points / 2);
    limits.positions = std::max<std::size_t>(32, limits.positions / 2);
  }
}

}  // namespace sink::report
