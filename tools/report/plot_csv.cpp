// The values of every figure as CSV (results_csv.h).
#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "engine/io/csv.h"
#include "tools/report/page_data.h"
#include "tools/report/results_csv.h"

namespace sink::report {
namespace {

using nlohmann::json;
using Files = std::map<std::string, std::string>;

struct Curve {
  Row x, y, least, greatest;
};
using CurveOf = std::function<std::optional<Curve>(const json& run)>;

Row row_of(const json& values) {
  Row out;
  for (const json& value : values) out.push_back(value.is_number() ? value.get<double>() : kNaN);
  return out;
}

// Values at `from`, `from` + 1, ...
Curve curve_from(double from, Row y) {
  Curve out{{}, std::move(y), {}, {}};
  for (std::size_t i = 0; i < out.y.size(); ++i) out.x.push_back(from + static_cast<double>(i));
  return out;
}

// As fileName in svg.js, with a number where two figures have the same name.
void add_file(Files& files, const std::string& name, const std::string& text) {
  std::string stem;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '_' || c == '.' || c == '-')
      stem += static_cast<char>(std::tolower(byte));
    else if (!stem.ends_with('\1'))
      stem += '\1';  // other characters in a row are one hyphen
  }
  std::ranges::replace(stem, '\1', '-');
  stem.erase(0, stem.find_first_not_of("-."));
  stem.erase(stem.find_last_not_of("-.") + 1);
  stem = stem.empty() ? "figure" : stem.substr(0, 80);
  std::string file = stem + ".csv";
  for (int copy = 2; files.contains(file); ++copy) file = stem + "-" + std::to_string(copy) + ".csv";
  files[file] = text;
}

// As valueAt in lines.js: linear between two points, NaN outside and in gaps.
double value_at(const Curve& curve, double x) {
  const auto above = std::ranges::lower_bound(curve.x, x);
  if (above == curve.x.end() || x < curve.x.front()) return kNaN;
  const auto i = static_cast<std::size_t>(above - curve.x.begin());
  if (*above == x) return curve.y[i];
  return curve.y[i - 1] + (curve.y[i] - curve.y[i - 1]) * (x - curve.x[i - 1]) / (curve.x[i] - curve.x[i - 1]);
}

double mean(const Row& row) {
  double sum = 0;
  int n = 0;
  for (const double value : row)
    if (std::isfinite(value)) sum += value, ++n;
  return n > 0 ? sum / n : kNaN;
}

// The rows of one line, as bandOf in lines.js.
std::string line_rows(const std::string& label, const std::vector<Curve>& curves) {
  std::string csv;
  const auto add = [&](double x, const Row& values, std::size_t runs) {
    csv.append(csv_field(label)).append(",").append(std::to_string(static_cast<std::int64_t>(x)));
    for (const double value : values) csv.append(",").append(csv_field(value));
    csv.append(",").append(std::to_string(runs)).append("\n");
  };
  if (curves.size() == 1) {
    const auto& [x, y, least, greatest] = curves.front();
    for (std::size_t i = 0; i < x.size(); ++i)
      add(x[i], {y[i], least.empty() ? kNaN : least[i], least.empty() ? kNaN : greatest[i]}, 1);
    return csv;
  }
  std::set<double> places;
  for (const Curve& curve : curves) places.insert(curve.x.begin(), curve.x.end());
  for (const double x : places) {
    Row known;
    for (const Curve& curve : curves)
      if (const double value = value_at(curve, x); std::isfinite(value)) known.push_back(value);
    const auto [least, greatest] = std::ranges::minmax_element(known);
    add(x, {mean(known), known.empty() ? kNaN : *least, known.empty() ? kNaN : *greatest}, known.size());
  }
  return csv;
}

// The values under a key of a run.
CurveOf row_at(const std::string& key) {
  return [=](const json& run) -> std::optional<Curve> {
    if (!run.contains(key)) return std::nullopt;
    return curve_from(1, row_of(run[key]));
  };
}

// One row of a table by layer and position.
CurveOf layer_row(const std::string& key, std::size_t layer) {
  return [=](const json& run) -> std::optional<Curve> {
    if (!run.contains(key) || layer >= run[key].size()) return std::nullopt;
    return curve_from(1, row_of(run[key][layer]));
  };
}

// The means over heads of a table by layer and head.
CurveOf head_means(const std::string& key) {
  return [=](const json& run) -> std::optional<Curve> {
    if (!run.contains(key)) return std::nullopt;
    Row means;
    for (const json& heads : run[key]) means.push_back(mean(row_of(heads)));
    return curve_from(0, means);
  };
}

void add_task(const json& data, const json& in_data, const TaskRuns& task, Files& files) {
  const std::string prefix = task_name(task.name) + " ";
  const auto run_at = [&](const json& index) -> const json& { return data["runs"][index.get<std::size_t>()]; };
  const auto label_of = [&](const json& group) {
    const json& members = group["runs"];
    return members.size() > 1 ? group["label"].get<std::string>() + ", " + std::to_string(members.size()) + " seeds"
                              : run_at(members[0])["name"].get<std::string>();
  };
  const auto add_lines = [&](const std::string& name, const std::string& place, const CurveOf& curve_of) {
    std::string csv;
    for (const json& group : in_data["arms"]) {
      std::vector<Curve> curves;
      for (const json& r : group["runs"])
        if (auto curve = curve_of(run_at(r))) curves.push_back(std::move(*curve));
      if (!curves.empty()) csv += line_rows(label_of(group), curves);
    }
    if (!csv.empty()) add_file(files, prefix + name, "line," + place + ",value,least,greatest,runs\n" + csv);
  };
  const auto add_curve = [&](const std::string& name) {
    add_lines(name, "step", [&](const json& run) -> std::optional<Curve> {
      if (!run["curves"].contains(name)) return std::nullopt;
      const json& c = run["curves"][name];
      Curve out{row_of(data["xs"][c["x"].get<std::size_t>()]), row_of(c["y"]), {}, {}};
      if (c.contains("least")) out.least = row_of(c["least"]), out.greatest = row_of(c["greatest"]);
      return out;
    });
  };
  const std::string val_loss = name_of(&Evaluation::loss), sink_1 = name_of(&SinkScores::sink_1);
  for (const std::string& name : {val_loss, std::string("train_loss"), std::string("grad_norm")}) add_curve(name);
  for (const std::string name : {name_of(&SinkScores::alpha_1), name_of(&SinkScores::sink_1),
                                 name_of(&SinkScores::alpha_star), name_of(&SinkScores::sink_star)}) {
    add_curve(name);
    if (task.has_proxy()) add_curve(name + "_raw");
  }
  std::string points;
  for (const json& group : in_data["arms"])
    for (const json& r : group["runs"]) {
      const json& run = run_at(r);
      if (!run.contains("final")) continue;
      const Row values = row_of({run["final"][val_loss], run["final"][sink_1]});
      if (std::isfinite(values[0]) && std::isfinite(values[1]))
        points += csv_field(run["name"].get<std::string>()) + "," + csv_field(label_of(group)) + "," +
                  csv_field(values[0]) + "," + csv_field(values[1]) + "\n";
    }
  if (std::ranges::count(points, '\n') >= 2)
    add_file(files, prefix + "scatter", "run,line," + val_loss + "," + sink_1 + "\n" + points);
  std::size_t levels = 0;
  for (const Run* run : task.runs)
    if (run->evaluation) levels = std::max(levels, run->evaluation->hidden_norm.size());
  const std::size_t level = shown_level(levels);
  for (const Measure& measure : kMeasures) {
    if (!measure.title) continue;
    const std::string name = measure.name, axes(measure.axes.names);
    const auto* of = std::get_if<OfVectors>(&measure.source);
    const std::size_t without_embedding = of && of->vectors == Vectors::hidden ? 0 : 1;
    if (axes == kByPosition.names)
      add_lines(name, axes, row_at(name));
    else if (axes == kByLayerHead.names)
      add_lines(name, "layer", head_means(name));
    else if (level >= without_embedding)
      add_lines(name, "position", layer_row(name, level - without_embedding));
  }
  const std::string alpha_k = name_of(&SinkScores::alpha_k);
  add_lines(alpha_k, "k", row_at(alpha_k));
  if (task.has_proxy()) add_lines(alpha_k + "_raw", "k", row_at(alpha_k + "_raw"));
}

// The heads of a run and the pattern that the page shows first, raw weights.
void add_heads(const Run& run, const PageLimits& limits, Files& files) {
  const Measurement& e = *run.evaluation;
  const std::string alpha = name_of(&SinkScores::alpha_1) + std::string(",");
  std::string csv = "what,layer,head,query,key,query_token,key_token,raw\n", name = run.name + " attention ";
  const Table& heads = (e.raw.alpha_1_layer_head.empty() ? e.proxy : e.raw).alpha_1_layer_head;
  for (std::size_t l = 0; l < heads.size(); ++l)
    for (std::size_t h = 0; h < heads[l].size(); ++h)
      csv += alpha + std::to_string(l) + "," + std::to_string(h) + ",,,,," + csv_field(six_digits(heads[l][h])) + "\n";
  if (e.maps) {
    const auto& [sequence, layer, head] = e.maps->chosen;
    const std::string place = std::to_string(layer) + "," + std::to_string(head) + ",";
    name += "sequence 1 layer " + std::to_string(layer) + ", head " + std::to_string(head);
    const auto text = [](std::int64_t position) { return position < 1 ? "*" : std::to_string(position); };
    for (const DrawnWeight& w : drawn_map(run, limits.maps, 0, layer, head))
      csv += "weight," + place + text(w.query) + "," + text(w.key) + "," + csv_field(w.query_token) + "," +
             csv_field(w.key_token) + "," + csv_field(w.weight) + "\n";
  } else {
    name += "heads";
  }
  add_file(files, name, csv);
}

}  // namespace

std::map<std::string, std::string> plot_csvs(const std::vector<Run>& runs) {
  const std::vector<TaskRuns> tasks = group_by_task(runs);
  const PageLimits limits = page_limits(runs, tasks, kDataBytes);
  const json data = page_data(runs, tasks, limits);
  Files files;
  for (std::size_t i = 0; i < tasks.size(); ++i) add_task(data, data["groups"][i], tasks[i], files);
  for (const Run& run : runs)
    if (run.evaluation && run.evaluation->has_heads()) add_heads(run, limits, files);
  return files;
}

}  // namespace sink::report
