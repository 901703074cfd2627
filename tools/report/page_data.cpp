// Gathers the numbers for the charts and maps, thinned and cut so that one page stays small.
#include "tools/report/page_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sink::report {
namespace {

using nlohmann::json;
constexpr std::size_t kCurvePoints = 300;
constexpr std::size_t kPositions = 256;  // of the norms
constexpr std::size_t kMapTokens = 128;

json cut(const Table& table, std::size_t columns) {
  json rows = json::array();
  for (const Row& row : table)
    rows.push_back(Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(std::min(columns, row.size()))));
  return rows;
}

// The chosen map. Row i holds the weights of keys 0..i: above the diagonal a causal map is empty.
json map_json(const AttentionMaps& maps) {
  const auto& [sequence, layer, head] = maps.chosen;
  const std::vector<std::string>& tokens = maps.tokens[static_cast<std::size_t>(sequence)];
  const std::size_t n = std::min(kMapTokens, tokens.size()), columns = tokens.size() + maps.extra_key;
  const Row& weights = maps.of(sequence, layer, head);
  json rows = json::array();
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = weights.begin() + static_cast<std::ptrdiff_t>(i * columns + maps.extra_key);
    rows.push_back(Row(first, first + static_cast<std::ptrdiff_t>(i + 1)));
  }
  return {{"layer", layer},
          {"head", head},
          {"tokens", std::vector<std::string>(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n))},
          {"weights", rows}};
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

json run_json(const Run& run, const LineStyle& style) {
  json out{{"name", run.name}, {"colour", style.colour}, {"dash", style.dash}, {"curves", curves_json(run.curves)}};
  if (!run.evaluation) return out;
  const Evaluation& e = *run.evaluation;
  if (!e.alpha_k.empty()) out["alpha_k"] = e.alpha_k;
  if (!e.alpha_k_raw.empty()) out["alpha_k_raw"] = e.alpha_k_raw;
  if (!e.alpha_1_layer_head.empty()) out["layer_head"] = e.alpha_1_layer_head;
  if (!e.alpha_1_layer_head_raw.empty()) out["layer_head_raw"] = e.alpha_1_layer_head_raw;
  if (!e.hidden_norm.empty()) out["hidden_norm"] = cut(e.hidden_norm, kPositions);
  if (!e.key_norm.empty()) out["key_norm"] = cut(e.key_norm, kPositions);
  if (!e.value_norm.empty()) out["value_norm"] = cut(e.value_norm, kPositions);
  if (e.maps) out["map"] = map_json(*e.maps);
  return out;
}

}  // namespace

std::vector<LineStyle> line_styles(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  std::vector<std::string> labels;
  std::vector<LineStyle> styles(runs.size());
  for (const Group& group : groups) {
    int line = 0;
    for (const Arm& arm : group.arms) {
      auto label = std::find(labels.begin(), labels.end(), arm.label);
      if (label == labels.end()) label = labels.insert(labels.end(), arm.label);
      const int colour = static_cast<int>(label - labels.begin());
      for (std::size_t seed = 0; seed < arm.runs.size(); ++seed)
        styles[static_cast<std::size_t>(arm.runs[seed] - runs.data())] = {colour % kColours, line++ % kDashes};
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

json page_data(const std::vector<Run>& runs, const std::vector<Group>& groups) {
  json out{{"groups", json::array()}, {"runs", json::array()}};
  const std::vector<LineStyle> styles = line_styles(runs, groups);
  for (std::size_t i = 0; i < runs.size(); ++i) out["runs"].push_back(run_json(runs[i], styles[i]));
  for (const Group& group : groups) {
    json indices = json::array(), even = json::array();
    for (const Run* run : group.runs) indices.push_back(run - runs.data());
    for (std::int64_t k = 1; k <= 10 && std::isfinite(group.even(k)); ++k) even.push_back(group.even(k));
    out["groups"].push_back({{"runs", indices}, {"even", even}});
  }
  return out;
}

}  // namespace sink::report
