#include "tools/report/page_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

#include "engine/data/bigram_backcopy.h"
#include "engine/io/html.h"
#include "engine/io/str_format.h"
#include "tools/report/page_maps.h"
#include "tools/report/run_settings.h"

namespace sink::report {
namespace {

using nlohmann::json;

constexpr int kDigits = 7;
constexpr std::int64_t kMaxFloorContext = 4096, kMaxFloorTokens = std::int64_t{1} << 24;  // computed within a second

// Bounds the size of the page.
struct PageLimits {
  std::size_t points = 300;     // of a curve
  std::size_t positions = 256;  // of norms and losses by position, from the first
  MapLimits maps;
};

// The precision of curves and tables by position on the page.
double six_digits(double value) {
  return std::isfinite(value) ? std::strtod(str_format("%.6g", value).c_str(), nullptr) : kNaN;
}

Row rounded(Row values) {
  std::ranges::transform(values, values.begin(), six_digits);
  return values;
}

Row cut(const Row& row, std::size_t columns) {
  return rounded(Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(std::min(columns, row.size()))));
}

json cut(const Table& table, std::size_t columns) {
  json rows = json::array();
  for (const Row& row : table) rows.push_back(cut(row, columns));
  return rows;
}

// Of all positions but the first, also of those that the page does not draw.
double mean_after_first(const Row& row) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 1; i < row.size(); ++i)
    if (std::isfinite(row[i])) sum += row[i], ++count;
  return count > 0 ? sum / count : kNaN;
}

// Rows of steps without duplicates: curves of a run, and runs of a study, mostly share them.
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

// Of the losses and of the scores that the page draws over training.
std::vector<std::string> curve_names() {
  std::vector<std::string> names{"train_loss", name_of(&Evaluation::loss), "grad_norm"};
  for (const std::string name : {name_of(&SinkScores::sink_1), name_of(&SinkScores::alpha_1),
                                 name_of(&SinkScores::sink_star), name_of(&SinkScores::alpha_star)}) {
    names.push_back(name);
    names.push_back(name + "_raw");
  }
  return names;
}

struct ThinCurve {
  Row x, y, least, greatest;
};

// The last point of each of `points` buckets, for what is measured now and then: no mean of several steps is shown as
// one of them.
ThinCurve last_of_buckets(const Row& x, const Row& y, std::size_t points) {
  if (x.size() <= points) return {x, y, {}, {}};
  ThinCurve out;
  for (std::size_t bucket = 1; bucket <= points; ++bucket) {
    const std::size_t last = bucket * x.size() / points - 1;
    out.x.push_back(x[last]), out.y.push_back(y[last]);
  }
  return out;
}

// A curve reduced to means over equal buckets, each at the last step of its bucket, with the bucket's least and
// greatest value. NaNs are left out; a bucket of NaNs is NaN, a gap in the line. A shorter curve is unchanged and has
// no `least` and `greatest`.
ThinCurve thin(const Row& x, const Row& y, std::size_t points) {
  if (x.size() <= points) return {x, y, {}, {}};
  ThinCurve out;
  for (std::size_t bucket = 0; bucket < points; ++bucket) {
    const std::size_t begin = bucket * x.size() / points, end = (bucket + 1) * x.size() / points;
    double sum = 0, least = kNaN, greatest = kNaN;
    int count = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(y[i])) continue;
      sum += y[i], ++count;
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

json curves_json(const Curves& curves, std::size_t points, Steps& steps) {
  json out = json::object();
  for (const std::string& name : curve_names()) {
    const auto found = curves.find(name);
    if (found == curves.end()) continue;
    Row x, y;
    const Row& step = curves.at("step");
    const bool every_step = name == "train_loss" || name == "grad_norm";
    for (std::size_t i = 0; i < step.size(); ++i) {
      // Between two evaluations nothing is drawn; a missing training loss is a gap.
      if (!every_step && !std::isfinite(found->second[i])) continue;
      x.push_back(step[i]);
      y.push_back(found->second[i]);
    }
    if (x.empty()) continue;
    const ThinCurve curve = every_step ? thin(x, y, points) : last_of_buckets(x, y, points);
    out[name] = {{"x", steps.index(curve.x)}, {"y", rounded(curve.y)}};
    if (curve.least.empty()) continue;
    out[name]["least"] = rounded(curve.least);
    out[name]["greatest"] = rounded(curve.greatest);
    const auto last = std::find_if(y.rbegin(), y.rend(), [](double value) { return std::isfinite(value); });
    out[name]["last"] = last == y.rend() ? kNaN : *last;  // of the steps, not the mean of a bucket
  }
  return out;
}

// The measures that the page draws along positions, layers and heads.
bool is_drawn(const Measure& measure) {
  return measure.title || measure.tiles || measure.values == Values(&SinkScores::alpha_k);
}

// {name, title, caption, unit, axes, tiles, optional}: what the page says of a measure.
json measures_json() {
  json out = json::array();
  for (const Measure& measure : kMeasures) {
    if (!measure.title && !measure.tiles) continue;
    out.push_back({{"name", measure.name},
                   {"unit", measure.unit},
                   {"axes", std::string(measure.axes.names)},
                   {"optional", measure.optional}});
    for (const auto& [key, text] :
         {std::pair("title", measure.title), std::pair("caption", measure.caption), std::pair("tiles", measure.tiles)})
      if (text) out.back()[key] = text;
  }
  return out;
}

void add_evaluation(const Run& run, const Measurement& e, const PageLimits& limits, json& out) {
  const std::string loss = name_of(&Evaluation::loss), sink = name_of(&SinkScores::sink_1),
                    alpha = name_of(&SinkScores::alpha_1);
  out["final"] = {{loss, e.loss},
                  {sink, e.sink_at(0.3, false)},
                  {sink + "_raw", e.sink_at(0.3, true)},
                  {alpha, e.proxy.alpha_1},
                  {alpha + "_raw", e.raw.alpha_1}};
  for_each_measure(e, [&]<class Value>(const Measure& measure, bool raw, const double*, Value values) {
    const std::string name = key_of(measure, raw, false);
    if constexpr (std::is_same_v<Value, const Row*>) {
      if (is_drawn(measure) && !values->empty()) out[name] = cut(*values, limits.positions);
    } else if constexpr (std::is_same_v<Value, const Table*>) {
      if (!is_drawn(measure) || values->empty()) return;
      const bool by_position = measure.axes == kByLayerPosition;
      out[name] = cut(*values, by_position ? limits.positions : SIZE_MAX);
      if (!by_position) return;
      Row others;
      for (const Row& row : *values) others.push_back(mean_after_first(row));
      out[name + "_others"] = rounded(others);
    }
  });
  if (e.maps) out["maps"] = maps_json(run, limits.maps);
}

json run_json(const Run& run, const LineStyle& style, const PageLimits& limits, Steps& steps) {
  json out{{"name", run.name},
           {"colour", style.colour},
           {"dash", style.dash},
           {"mark", run.status()},
           {"curves", curves_json(run.curves, limits.points, steps)},
           {"same", run.rows_sum_to_one()}};
  if (const auto floor = loss_floor(run)) {
    out["floor"] = {{"val_loss", floor->validation}};
    if (floor->train) out["floor"]["train_loss"] = *floor->train;
  }
  if (run.evaluation) add_evaluation(run, *run.evaluation, limits, out);
  return out;
}

// The settings that the page can filter and group by: saved settings, ablation, task, name, seed, the policies by their
// kinds (`attention`, `position` ...), and whether it has finished.
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

// Settings that all runs share are stored once.
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
    const bool common = first != all.front().end() && std::ranges::all_of(all, [&](const auto& settings) {
                          return settings.contains(name) && settings.at(name) == first->second;
                        });
    if (common) out["common"][name] = first->second;
    for (std::size_t i = 0; i < runs.size() && !common; ++i)
      if (const auto found = all[i].find(name); found != all[i].end()) out["runs"][i]["settings"][name] = found->second;
  }
}

// The runs of a line: one per seed, a finished one if there is one, as Group::finished().
std::vector<const Run*> one_per_seed(const Group& group) {
  std::map<std::uint64_t, const Run*> of_seed;
  for (const Run* run : group.runs) {
    const Run*& kept = of_seed.try_emplace(run->seed, run).first->second;
    if (run->finished && !kept->finished) kept = run;
  }
  std::vector<const Run*> out;
  std::ranges::copy_if(group.runs, std::back_inserter(out),
                       [&](const Run* run) { return of_seed.at(run->seed) == run; });
  return out;
}

// What a run's colour belongs to.
std::string colour_name(const Run& run) {
  return !run.trained_here() ? run.model : run.ablation.empty() ? run.attention : run.ablation;
}

// Frequent ablations have different colours; the colour of another name is a hash (FNV-1a) of the name.
int colour_of(const std::string& name) {
  static const std::map<std::string, int> table{{"baseline", 0},    {"pos_learnable", 0},
                                                {"softmax", 0},     {"op_sigmoid_none", 1},
                                                {"sigmoid", 1},     {"pos_learnable_sigmoid", 1},
                                                {"op_relu", 2},     {"pos_learnable_relu", 2},
                                                {"relu", 2},        {"bias_k", 3},
                                                {"bias_kv", 4},     {"bias_sinktoken", 5},
                                                {"op_softmax1", 6}, {"op_sigmoid_norm", 7}};
  if (const auto found = table.find(name); found != table.end()) return found->second;
  std::uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<int>(hash % kColours);
}

}  // namespace

std::optional<LossFloor> loss_floor(const Run& run) {
  if (run.task != "bigram-backcopy" || run.settings.empty()) return std::nullopt;
  DataConfig config;
  config.seed = static_cast<decltype(config.seed)>(run.seed);
  const std::int64_t context = whole_setting(run, "context", run.context);
  config.eval_sequences = whole_setting(run, "eval-sequences", config.eval_sequences);
  if (context < 2 || context > kMaxFloorContext || config.eval_sequences < 1 ||
      config.eval_sequences > kMaxFloorTokens / context)
    return std::nullopt;
  const std::int64_t prefix = whole_setting(run, "prefix");
  if (prefix > 1 && prefix >= context) return std::nullopt;  // there is no such run
  // The first target never counts. A longer prefix leaves out more of them, or shows targets that validation counts.
  const bool leaves_out_more = prefix > 2;
  const auto counts = run.settings.find("prefix-validation");
  if (leaves_out_more && counts != run.settings.end() && counts->second == "study") return std::nullopt;
  // Shared by runs with the same seed.
  static std::map<std::array<std::int64_t, 4>, LossFloor> known;
  const auto [found, added] =
      known.try_emplace({static_cast<std::int64_t>(run.seed), context, config.eval_sequences, prefix});
  if (added) {
    const BigramBackcopy task(config, context, prefix);
    found->second.validation = task.best_loss(task.validation_batch(0, task.validation_sequences()));
    if (!leaves_out_more) found->second.train = task.entropy_floor();
  }
  return found->second;
}

std::vector<LineStyle> line_styles(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks) {
  std::vector<LineStyle> styles(runs.size());
  for (const TaskRuns& task : tasks) {
    std::set<std::string> names, labels;
    for (const Group& group : task.groups) {
      names.insert(colour_name(*group.runs.front()));
      labels.insert(group.label);
    }
    int lines[kColours] = {};  // so far, of each colour
    for (const Group& group : task.groups) {
      // Runs of a single ablation are told apart by their settings.
      const int rank = static_cast<int>(std::distance(labels.begin(), labels.find(group.label)));
      const int colour =
          names.size() == 1 && labels.size() > 1 ? rank % kColours : colour_of(colour_name(*group.runs.front()));
      for (const Run* run : group.runs)
        styles[static_cast<std::size_t>(run - runs.data())] = {colour, lines[colour]++ % kDashes};
    }
  }
  return styles;
}

std::string task_name(const std::string& task) {
  return task == "text" ? "Text" : task == "bigram-backcopy" ? "Bigram-Backcopy" : task;
}

namespace {

json page_data(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks, const PageLimits& limits) {
  json out{{"measures", measures_json()}, {"groups", json::array()}, {"runs", json::array()}};
  const std::vector<LineStyle> styles = line_styles(runs, tasks);
  Steps steps;
  for (std::size_t i = 0; i < runs.size(); ++i) out["runs"].push_back(run_json(runs[i], styles[i], limits, steps));
  out["xs"] = steps.rows();
  if (!runs.empty()) add_settings(runs, out);
  const auto index = [&](const Run* run) { return run - runs.data(); };
  for (const TaskRuns& task : tasks) {
    json indices = json::array(), even = json::array(), groups = json::array(), story = json::array();
    std::size_t positions = 0;
    bool sink_token = false;
    for (const Run* run : task.runs) {
      indices.push_back(index(run));
      if (!run->evaluation) continue;
      if (const Table& hidden = run->evaluation->hidden_norm; !hidden.empty())
        positions = std::max(positions, hidden[0].size());
      sink_token = sink_token || run->evaluation->extra == Evaluation::Extra::token;
    }
    for (const GroupSummary& summary : extreme_groups(task)) {
      const auto run = std::ranges::find_if(
          summary.runs, [](const Run* one) { return one->evaluation->has_heads() && one->evaluation->maps; });
      if (run != summary.runs.end()) story.push_back(index(*run));
    }
    for (const Group& group : task.groups) {
      json members = json::array();
      for (const Run* run : one_per_seed(group)) members.push_back(index(run));
      groups.push_back({{"label", group.label}, {"runs", members}});
    }
    for (std::int64_t k = 1; k <= 10 && std::isfinite(task.uniform(k)); ++k) even.push_back(task.uniform(k));
    out["groups"].push_back({{"task", task.name},
                             {"runs", indices},
                             {"arms", groups},
                             {"even", even},
                             {"story", story},
                             {"positions", positions},
                             {"sink_token", sink_token}});
  }
  return out;
}

}  // namespace

std::string page_json(const std::vector<Run>& runs, const std::vector<TaskRuns>& tasks) {
  PageLimits limits;
  std::size_t map_bytes = kMapBytes;
  for (int halving = 0;; ++halving) {
    limits.maps = map_limits(runs, map_bytes);
    std::string text = script_json(page_data(runs, tasks, limits), kDigits);
    if (halving == 8 || text.size() <= kDataBytes) return text;
    map_bytes /= 2;
    if (halving % 2 == 0) continue;
    limits.points = std::max<std::size_t>(40, limits.points / 2);
    limits.positions = std::max<std::size_t>(32, limits.positions / 2);
  }
}

}  // namespace sink::report
