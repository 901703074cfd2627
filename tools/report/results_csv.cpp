#include "tools/report/results_csv.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tools/csv.h"
#include "tools/report/findings.h"

namespace sink::report {
namespace {

struct Line {
  std::string names, values;
  void add(const std::string& name, const std::string& field) {
    const char* comma = names.empty() ? "" : ",";
    names += comma + name;
    values += comma + field;
  }
  void add(const std::string& name, double number) { add(name, csv_field(number)); }
  void text(const std::string& name, const std::string& value) { add(name, csv_field(value)); }
  void whole(const std::string& name, std::int64_t value) { add(name, std::to_string(value)); }
};

// -1 is a number, not a formula.
std::string setting_field(const std::string& value) {
  char* end = nullptr;
  std::strtod(value.c_str(), &end);
  return !value.empty() && *end == '\0' ? value : csv_field(value);
}

void add_measurement(const Run& run, const Evaluation& e, const std::set<double>& epsilons,
                     const std::set<std::string>& changes, Line& line) {
  line.text("input", run.evaluation ? e.input : "");
  line.add("input_seed", run.evaluation && e.input != "text" ? std::to_string(e.input_seed) : "");
  line.text("extra", run.evaluation ? e.extra : "");
  line.add("measured_context", run.finished ? std::to_string(run.context) : "");
  line.add("measured_sequences", run.finished ? std::to_string(run.sequences) : "");
  line.text("measured_precision", run.finished ? run.precision : "");
  for (const char* name : {"val_loss", "input_loss"}) line.add(name, e.get(name));
  const auto sinks = [&](double epsilon, const std::string& end) {
    line.add("sink_1" + end, e.sink_at(epsilon, false));
    line.add("sink_1_raw" + end, e.sink_at(epsilon, true));
    line.add("sink_star" + end, e.sink_star_at(epsilon, false));
    line.add("sink_star_raw" + end, e.sink_star_at(epsilon, true));
  };
  sinks(0.3, "");
  for (const char* name : {"alpha_1", "alpha_1_raw", "alpha_1_max", "alpha_star", "alpha_star_raw", "row_mass",
                           "extra_key_mass", "entropy", "first_value_norm_ratio", "value_share", "massive_ratio"})
    line.add(name, e.get(name));
  for (const std::string& change : changes) line.add(change, e.get(change));
  for (const std::size_t k : {2, 3})
    line.add("sink_" + std::to_string(k), e.sink_k.size() < k ? kNaN : e.sink_k[k - 1]);
  for (const double epsilon : epsilons) sinks(epsilon, "_eps" + csv_field(epsilon));
}

}  // namespace

std::string results_csv(const std::vector<Run>& runs) {
  const std::vector<Group> groups = group_by_task(runs);
  std::set<double> epsilons;
  std::set<std::string> settings, changes;
  for (const Run& run : runs) {
    if (run.evaluation) epsilons.insert(run.evaluation->sink_epsilon.begin(), run.evaluation->sink_epsilon.end());
    for (const auto& [name, value] : run.settings) settings.insert(name);
    if (!run.evaluation) continue;
    for (const auto& [name, value] : run.evaluation->scalar)
      if (name.starts_with("change_")) changes.insert(name);
  }
  for (const char* column : {"task", "ablation", "policies", "seed", "steps"}) settings.erase(column);

  std::string csv;
  const Evaluation none;
  for (const Run& run : runs) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.task == run.task; });
    Line line;
    line.text("run", run.name);
    line.text("task", run.task);
    line.text("ablation", run.ablation);
    line.text("label", group->label(run));
    line.add("finished", run.finished ? "true" : "false");
    line.add("measured_step",
             run.evaluation ? std::to_string(run.finished ? run.step : run.unfinished_step) : std::string());
    line.whole("steps", run.steps);
    line.whole("step", run.step);
    line.whole("tokens", run.tokens);
    line.add("seed", std::to_string(run.seed));
    add_measurement(run, run.evaluation ? *run.evaluation : none, epsilons, changes, line);
    line.add("seconds", run.seconds);
    line.whole("skipped_steps", run.skipped_steps);
    line.whole("first_skipped", run.first_skipped);
    line.text("failure", run.failure);
    line.text("commit", run.commit);
    line.text("date", run.date);
    line.text("machine", run.machine);
    line.text("data_sha256", run.data_sha256);
    line.text("policies", run.policies);
    for (const std::string& name : settings) {
      std::string column = name;
      std::replace(column.begin(), column.end(), '-', '_');
      const auto found = run.settings.find(name);
      line.add(column, found == run.settings.end() ? "" : setting_field(found->second));
    }
    csv += (csv.empty() ? line.names + "\n" : "") + line.values + "\n";
  }
  return csv;
}

}  // namespace sink::report
