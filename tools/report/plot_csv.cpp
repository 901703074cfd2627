#include "tools/report/plot_csv.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>

#include "tools/csv.h"
#include "tools/report/page_data.h"

namespace sink::report {
namespace {

using nlohmann::json;

struct CurveOf {
  Row x, y, least, greatest;
};

double number_of(const json& value) { return value.is_number() ? value.get<double>() : kNaN; }

Row row_of(const json& values) {
  Row out;
  for (const json& value : values) out.push_back(number_of(value));
  return out;
}

// As fileName of svg.js, with a number where two figures have one name.
std::string free_name(const std::string& name, const std::map<std::string, std::string>& files) {
  std::string stem;
  for (const char c : name) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
    if (kept)
      stem += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!stem.ends_with('\1'))
      stem += '\1';  // a run of others
  }
  std::replace(stem.begin(), stem.end(), '\1', '-');
  stem.erase(0, stem.find_first_not_of("-."));
  stem.erase(stem.find_last_not_of("-.") + 1);
  stem = stem.empty() ? "figure" : stem.substr(0, 80);
  std::string file = stem + ".csv";
  for (int copy = 2; files.contains(file); ++copy) file = stem + "-" + std::to_string(copy) + ".csv";
  return file;
}

// To the digits of the page.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::isfinite(value) ? std::strtod(text, nullptr) : kNaN;
}

// As valueAt of lines.js: between two points on a straight line, NaN outside and in gaps.
double value_at(const CurveOf& curve, double x) {
  const auto above = std::lower_bound(curve.x.begin(), curve.x.end(), x);
  if (above == curve.x.end() || x < curve.x.front()) return kNaN;
  const auto i = static_cast<std::size_t>(above - curve.x.begin());
  if (*above == x) return curve.y[i];
  return curve.y[i - 1] + (curve.y[i] - curve.y[i - 1]) * (x - curve.x[i - 1]) / (curve.x[i] - curve.x[i - 1]);
}

std::string whole(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

void add_row(std::string& csv, const std::string& label, double x, const Row& numbers, std::size_t runs) {
  csv.append(csv_field(label)).append(",").append(whole(x));
  for (const double value : numbers) csv.append(",").append(csv_field(value));
  csv.append(",").append(std::to_string(runs)).append("\n");
}

// The rows of one line, as bandOf of lines.js makes them.
void add_line(std::string& csv, const std::string& label, const std::vector<CurveOf>& curves) {
  if (curves.size() == 1) {
    const CurveOf& c = curves.front();
    for (std::size_t i = 0; i < c.x.size(); ++i)
      add_row(csv, label, c.x[i], {c.y[i], c.least.empty() ? kNaN : c.least[i], c.least.empty() ? kNaN : c.greatest[i]},
              1);
    return;
  }
  std::set<double> places;
  for (const CurveOf& curve : curves) places.insert(curve.x.begin(), curve.x.end());
  for (const double x : places) {
    double sum = 0, least = kNaN, greatest = kNaN;
    std::size_t n = 0;
    for (const CurveOf& curve : curves) {
      const double value = value_at(curve, x);
      if (!std::isfinite(value)) continue;
      sum += value;
      ++n;
      least = std::fmin(least, value);
      greatest = std::fmax(greatest, value);
    }
    add_row(csv, label, x, {n > 0 ? sum / static_cast<double>(n) : kNaN, least, greatest}, n);
  }
}

double mean(const Row& row, std::size_t from = 0) {
  double sum = 0;
  int n = 0;
  for (std::size_t i = from; i < row.size(); ++i)
    if (std::isfinite(row[i])) sum += row[i], ++n;
  return n > 0 ? sum / n : kNaN;
}

CurveOf counted(Row y, double from) {
  CurveOf out{{}, std::move(y), {}, {}};
  for (std::size_t i = 0; i < out.y.size(); ++i) out.x.push_back(from + static_cast<double>(i));
  return out;
}

// The files of one task.
class PlotsOfTask {
 public:
  PlotsOfTask(const json& data, const json& group, std::map<std::string, std::string>& files)
      : data_(data), group_(group), task_(task_name(group["task"].get<std::string>())), files_(files) {}

  void curve(const std::string& name) {
    lines(name, "step", [&](const json& run) -> std::optional<CurveOf> {
      if (!run["curves"].contains(name)) return std::nullopt;
      const json& c = run["curves"][name];
      CurveOf out{row_of(data_["xs"][c["x"].get<std::size_t>()]), row_of(c["y"]), {}, {}};
      if (c.contains("least")) out.least = row_of(c["least"]), out.greatest = row_of(c["greatest"]);
      return out;
    });
  }
  // A row of a table by layer and position.
  void profile(const std::string& name, std::size_t layer) {
    lines(name, "position", [&](const json& run) -> std::optional<CurveOf> {
      if (!run.contains(name) || layer >= run[name].size()) return std::nullopt;
      return counted(row_of(run[name][layer]), 1);
    });
  }
  void row(const std::string& name, const std::string& place) {
    lines(name, place, [&](const json& run) -> std::optional<CurveOf> {
      if (!run.contains(name)) return std::nullopt;
      return counted(row_of(run[name]), 1);
    });
  }
  void value_share() {
    lines("value_share", "layer", [](const json& run) -> std::optional<CurveOf> {
      if (!run.contains("value_share")) return std::nullopt;
      Row means;
      for (const json& heads : run["value_share"]) means.push_back(mean(row_of(heads)));
      return counted(means, 0);
    });
  }
  void scatter() {
    std::string csv;
    std::size_t points = 0;
    for (const json& arm : group_["arms"])
      for (const json& r : arm["runs"]) {
        const json& run = data_["runs"][r.get<std::size_t>()];
        if (!run.contains("final")) continue;
        const double loss = number_of(run["final"]["val_loss"]), sink = number_of(run["final"]["sink_1"]);
        if (!std::isfinite(loss) || !std::isfinite(sink)) continue;
        csv += csv_field(run["name"].get<std::string>()) + "," + csv_field(label_of(arm)) + "," + csv_field(loss) +
               "," + csv_field(sink) + "\n";
        ++points;
      }
    if (points >= 2) put("scatter", "run,line,val_loss,sink_1\n" + csv);
  }

 private:
  std::string label_of(const json& arm) const {
    const json& members = arm["runs"];
    return members.size() > 1 ? arm["label"].get<std::string>() + ", " + std::to_string(members.size()) + " seeds"
                              : data_["runs"][members[0].get<std::size_t>()]["name"].get<std::string>();
  }
  void lines(const std::string& name, const std::string& place,
             const std::function<std::optional<CurveOf>(const json&)>& curve_of) {
    std::string csv;
    for (const json& arm : group_["arms"]) {
      std::vector<CurveOf> curves;
      for (const json& r : arm["runs"])
        if (auto curve = curve_of(data_["runs"][r.get<std::size_t>()])) curves.push_back(std::move(*curve));
      if (!curves.empty()) add_line(csv, label_of(arm), curves);
    }
    if (!csv.empty()) put(name, "line," + place + ",value,least,greatest,runs\n" + csv);
  }
  void put(const std::string& name, const std::string& csv) { files_[free_name(task_ + " " + name, files_)] = csv; }

  const json &data_, &group_;
  std::string task_;
  std::map<std::string, std::string>& files_;
};

void add_task(const json& data, const json& in_data, const Group& group, std::map<std::string, std::string>& files) {
  PlotsOfTask plots(data, in_data, files);
  const bool proxy = group.has_proxy();
  for (const std::string name : {"val_loss", "train_loss", "grad_norm"}) plots.curve(name);
  for (const std::string name : {"alpha_1", "sink_1", "alpha_star", "sink_star"}) {
    plots.curve(name);
    if (proxy) plots.curve(name + "_raw");
  }
  plots.scatter();
  std::size_t levels = 0;
  for (const Run* run : group.runs)
    if (run->evaluation) levels = std::max(levels, run->evaluation->hidden_norm.size());
  const std::size_t level = shown_level(levels);
  for (const std::string name : {"hidden_norm", "hidden_kurtosis", "hidden_largest"}) plots.profile(name, level);
  if (level > 0)
    for (const std::string name : {"key_norm", "value_norm"}) plots.profile(name, level - 1);
  plots.value_share();
  plots.row("loss_position", "position");
  plots.row("alpha_k", "k");
  if (proxy) plots.row("alpha_k_raw", "k");
}

// The heads of a run and the map that the page shows first, raw weights.
void add_heads(const Run& run, const PageLimits& limits, std::map<std::string, std::string>& files) {
  const Evaluation& e = *run.evaluation;
  std::string csv = "what,layer,head,query,key,query_token,key_token,raw\n", name = run.name + " attention ";
  const Table& heads = e.alpha_1_layer_head_raw.empty() ? e.alpha_1_layer_head : e.alpha_1_layer_head_raw;
  for (std::size_t l = 0; l < heads.size(); ++l)
    for (std::size_t h = 0; h < heads[l].size(); ++h)
      csv +=
          "alpha_1," + std::to_string(l) + "," + std::to_string(h) + ",,,,," + csv_field(rounded(heads[l][h])) + "\n";
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
  files[free_name(name, files)] = csv;
}

}  // namespace

std::map<std::string, std::string> plot_csvs(const std::vector<Run>& runs) {
  const std::vector<Group> groups = group_by_task(runs);
  const PageLimits limits = page_limits(runs, groups, kDataBytes);
  const json data = page_data(runs, groups, limits);
  std::map<std::string, std::string> files;
  for (std::size_t g = 0; g < groups.size(); ++g) add_task(data, data["groups"][g], groups[g], files);
  for (const Run& run : runs)
    if (run.evaluation && !run.evaluation->alpha_1_layer_head.empty() && !run.evaluation->alpha_1_layer_head[0].empty())
      add_heads(run, limits, files);
  return files;
}

}  // namespace sink::report
