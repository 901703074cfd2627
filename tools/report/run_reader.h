// A run folder as the report sees it: config.toml, the curves of metrics.jsonl and, once finished, evaluation.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sink::report {

using Row = std::vector<double>;
using Table = std::vector<Row>;

// One attention map: the raw weights [T][T] of one head on one sequence, query by key.
struct AttentionMap {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::vector<std::string> tokens;
  Table weights;
};

// What evaluation.json says beyond the run's identity. Sinks are percents; names without _raw are proxy weights
// |a| / sum |a|, names with _raw the weights as they act. Missing numbers are NaN, missing lists empty.
struct Evaluation {
  std::map<std::string, double> scalar;  // val_loss, alpha_1, alpha_1_raw, alpha_1_max, row_mass, ...
  Row sink_epsilon;
  Row sink_1, sink_1_raw;                            // one per epsilon
  Row alpha_k, alpha_k_raw;                          // k = 1..10
  Table alpha_1_layer_head, alpha_1_layer_head_raw;  // [L][H]
  Table hidden_norm;                                 // [L+1][T]
  Table key_norm, value_norm;                        // [L][T]
  std::optional<AttentionMap> map;

  double get(const std::string& name) const;       // NaN when absent
  double sink_at(double epsilon, bool raw) const;  // NaN when absent
};

// Columns of metrics.jsonl by name, all as long as `step`; NaN where a line has no such key.
using Curves = std::map<std::string, Row>;

struct Run {
  std::string folder;
  std::string name;
  std::string task = "unknown";
  std::string ablation;  // not known before the evaluation
  std::string policies;
  std::string attention;  // the Attention of `policies`, in lower case; else the ablation or the name
  std::string commit, date, precision, config_toml;
  std::int64_t seed = 0, step = 0, steps = 0, tokens = 0, parameters = 0, sequences = 0, context = 0;
  Curves curves;
  std::optional<Evaluation> evaluation;  // none while the run is in progress

  // Proxy and raw weights are the same thing, because every row sums to one.
  bool rows_sum_to_one() const;
};

// Throws Error (Exit::bad_input) naming the file, what was expected and what came.
Run read_run_folder(const std::string& folder);

}  // namespace sink::report
