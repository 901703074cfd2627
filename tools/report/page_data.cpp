// Gathers the numbers for the charts and maps, thinned and cut so that one page stays small.
#include "tools/report/page_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/report/loss_floor.h"

namespace sink::report {
namespace {

using nlohmann::json;
constexpr std::size_t kCurvePoints = 300;
constexpr std::size_t kPositions = 256;  // of the norms

json cut(const Table& table, std::size_t columns) {
  json rows = json::array();
  for (const Row& row : table)
    rows.push_back(Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(std::min(columns, row.size()))));
  return rows;
}

json curves_json(const Curves& curves) {
  json out = json::object();
  for (const char* name : {"train_loss", "val_loss", "sink_1", "sink_1_raw", "alpha_1", "alpha_1_raw", "sink_star",
                           "sink_star_raw", "alpha_star", "alpha_star_raw"}) {
    const auto found = curves.find(name);
    if (found == curves.end()) continue;
    Row x, y;
    const Row& step = curves.at("step");
    const bool every_step = std::string(name) == "train_loss";
    for (std::size_t i = 0; i < step.size(); ++i) {
      // Between two evaluations there is nothing to draw; a train loss that is missing is a gap.
      if (!every_step && !std::isfinite(found->second[i])) continue;
      x.push_back(step[i]);
      y.push_back(found->second[i]);
    }
    if (x.empty()) continue;
    const auto [thin_x, thin_y] = thin(x, y, kCurvePoints);
    out[name] = {{"x", thin_x}, {"y", thin_y}};
  }
  return out;
}

json run_json(const Run& run, const LineStyle& style, const MapLimits& limits) {
  json out{{"name", run.name},
           {"colour", style.colour},
           {"dash", style.dash},
           {"curves", curves_json(run.curves)},
           {"same", run.rows_sum_to_one()}};
  if (const auto floor = loss_floor(run))
    out["floor"] = {{"train_loss", floor->train}, {"val_loss", floor->validation}};
  if (!run.evaluation) return out;
  const Evaluation& e = *run.evaluation;
  if (!e.alpha_k.empty()) out["alpha_k"] = e.alpha_k;
  if (!e.alpha_k_raw.empty()) out["alpha_k_raw"] = e.alpha_k_raw;
  if (!e.alpha_1_layer_head.empty()) out["layer_head"] = e.alpha_1_layer_head;
  if (!e.alpha_1_layer_head_raw.empty()) out["layer_head_raw"] = e.alpha_1_layer_head_raw;
  if (!e.alpha_star_layer_head.empty()) out["star_head"] = e.alpha_star_layer_head;
  if (!e.alpha_star_layer_head_raw.empty()) out["star_head_raw"] = e.alpha_star_layer_head_raw;
  if (!e.hidden_norm.empty()) out["hidden_norm"] = cut(e.hidden_norm, kPositions);
  if (!e.key_norm.empty()) out["key_norm"] = cut(e.key_norm, kPositions);
  if (!e.value_norm.empty()) out["value_norm"] = cut(e.value_norm, kPositions);
  if (e.maps) out["maps"] = maps_json(run, limits);
  return out;
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

std::pair<Row, Row> thin(const Row& x, const Row& y, std::size_t points) {
  if (x.size() <= points) return {x, y};
  Row thin_x, thin_y;
  for (std::size_t bucket = 0; bucket < points; ++bucket) {
    const std::size_t begin = bucket * x.size() / points, end = (bucket + 1) * x.size() / points;
    double sum = 0;
    int count = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (std::isfinite(y[i])) {
        sum += y[i];
        ++count;
      }
    thin_x.push_back(x[end - 1]);
    thin_y.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
  }
  return {thin_x, thin_y};
}

json page_data(const std::vector<Run>& runs, const std::vector<Group>& groups, const MapLimits& limits) {
  json out{{"groups", json::array()}, {"runs", json::array()}};
  const std::vector<LineStyle> styles = line_styles(runs, groups);
  for (std::size_t i = 0; i < runs.size(); ++i) out["runs"].push_back(run_json(runs[i], styles[i], limits));
  for (const Group& group : groups) {
    json indices = json::array(), even = json::array();
    for (const Run* run : group.runs) indices.push_back(run - runs.data());
    for (std::int64_t k = 1; k <= 10 && std::isfinite(group.even(k)); ++k) even.push_back(group.even(k));
    out["groups"].push_back({{"runs", indices}, {"even", even}});
  }
  return out;
}

}  // namespace sink::report
