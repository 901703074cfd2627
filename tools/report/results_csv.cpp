// Writes results.csv.
#include "tools/report/results_csv.h"

#include <cmath>
#include <cstdio>
#include <set>

namespace sink::report {
namespace {

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string field(double value) {
  if (!std::isfinite(value)) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::string results_csv(const std::vector<Run>& runs) {
  const char* const scalars[] = {"alpha_1", "alpha_1_raw", "alpha_1_max", "row_mass", "first_value_norm_ratio"};
  std::set<double> epsilons;
  for (const Run& run : runs)
    if (run.evaluation) epsilons.insert(run.evaluation->sink_epsilon.begin(), run.evaluation->sink_epsilon.end());

  std::string csv = "run,task,ablation,seed,steps,step,tokens,val_loss,sink_1,sink_1_raw";
  for (const char* name : scalars) csv += std::string(",") + name;
  for (const double e : epsilons) csv += ",sink_1_eps" + field(e) + ",sink_1_raw_eps" + field(e);
  csv += "\n";
  const Evaluation none;
  for (const Run& run : runs) {
    const Evaluation& e = run.evaluation ? *run.evaluation : none;
    std::vector<std::string> fields = {field(run.name),
                                       field(run.task),
                                       field(run.ablation),
                                       std::to_string(run.seed),
                                       std::to_string(run.steps),
                                       std::to_string(run.step),
                                       std::to_string(run.tokens),
                                       field(e.get("val_loss")),
                                       field(e.sink_at(0.3, false)),
                                       field(e.sink_at(0.3, true))};
    for (const char* name : scalars) fields.push_back(field(e.get(name)));
    for (const double epsilon : epsilons)
      for (const bool raw : {false, true}) fields.push_back(field(e.sink_at(epsilon, raw)));
    for (std::size_t i = 0; i < fields.size(); ++i) csv.append(i > 0 ? "," : "").append(fields[i]);
    csv += "\n";
  }
  return csv;
}

}  // namespace sink::report
