// A run as the report sees it: config.toml, the curves of metrics.jsonl and evaluation.json; or one measurement alone,
// a file that `eval_<ablation> sink` wrote.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sink::report {

using Row = std::vector<double>;
using Table = std::vector<Row>;

// A number that a run does not have.
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Every stored attention map of a measurement, raw weights. Layers and heads count from 0.
struct AttentionMaps {
  std::int64_t layers = 0, heads = 0;
  bool extra_key = false;                        // column 0 of every row is the extra key `*`
  std::vector<std::vector<std::string>> tokens;  // [sequence][T]; a sink token is the first of them
  // [(sequence * layers + layer) * heads + head]: T rows of (extra_key + T) weights, row-major, zero where a query does
  // not see a key; empty where the map was not stored.
  std::vector<std::vector<double>> weights;
  struct Chosen {
    std::int64_t sequence = 0, layer = 0, head = 0;
  } chosen;  // the map to show first; it is always there

  const std::vector<double>& of(std::int64_t sequence, std::int64_t layer, std::int64_t head) const {
    return weights[static_cast<std::size_t>((sequence * layers + layer) * heads + head)];
  }
};

// What was measured. Sinks are percents; names without _raw are proxy weights |a| / sum |a|, names with _raw the
// weights as they act; `star` is the extra key or sink token. Missing numbers are NaN, missing lists empty.
struct Evaluation {
  // val_loss (of text; the loss on other input is `input_loss`, which no table compares with it), alpha_1, alpha_1_raw,
  // alpha_1_max, alpha_star, alpha_star_raw, row_mass (without the extra key's part, extra_key_mass), entropy,
  // first_value_norm_ratio, value_share, massive_ratio (the largest of all layers); of a run with interventions.json
  // change_removed_1 and the like (interventions_reader.h)
  std::map<std::string, double> scalar;
  std::string input = "text";  // text: the run's own validation sequences | random | repeated | ...
  // none | key (every query sees one key more) | token (a sink token) | unknown
  std::string extra = "none";
  std::uint64_t input_seed = 0;  // of random and repeated tokens
  std::string data;              // the folder of the text, where it is known
  std::string input_sha256;      // of the ids of given tokens or a sentence; empty otherwise
  bool has_extra_key = false;    // extra == "key"
  Row sink_epsilon;
  Row sink_1, sink_1_raw;                                  // one per epsilon
  Row sink_star, sink_star_raw;                            // one per epsilon; empty where extra is none
  Row sink_k;                                              // k = 1..10, at the study's epsilon; proxy
  Row alpha_k, alpha_k_raw;                                // k = 1..10
  Table alpha_1_layer_head, alpha_1_layer_head_raw;        // [L][H]
  Table alpha_star_layer_head, alpha_star_layer_head_raw;  // [L][H]; empty where extra is none
  Table hidden_norm;                                       // [L+1][T]
  Table key_norm, value_norm;                              // [L][T]
  // Measured since later: empty where the file is older, which is not known and not zero.
  Table hidden_kurtosis, hidden_largest;  // [L+1][T]
  Table value_share_layer_head;           // [L][H]
  Row loss_position;                      // [T]; NaN where nothing is predicted
  std::optional<AttentionMaps> maps;

  double get(const std::string& name) const;            // NaN when absent
  double sink_at(double epsilon, bool raw) const;       // NaN when absent
  double sink_star_at(double epsilon, bool raw) const;  // NaN when absent
  double total_mass() const;                            // of a row, the extra key's part included; NaN if unknown
};

// Columns of metrics.jsonl by name, all as long as `step`; NaN where a line has no such key. Beside what training is:
// val_loss, sink_1[_raw], sink_star[_raw], alpha_1[_raw], alpha_star[_raw], row_mass, extra_key_mass, ...
using Curves = std::map<std::string, Row>;

struct Run {
  std::string folder;        // or the file
  std::string name;          // ends with its input where that is not text: "first, random input"
  std::string model, input;  // of a measurement of several inputs: the name without the input, and the input's
  std::string task = "unknown";
  std::string ablation;   // may be unknown (empty) in a run that an older program has begun
  std::string policies;   // may be unknown, too
  std::string attention;  // the Attention of `policies`, in lower case; else the ablation or the name
  std::string commit, date, precision, config_toml;
  std::string machine;                          // the processor it was trained on; empty where not known
  std::string data_sha256;                      // of the tokens it was trained on; empty where not known
  std::map<std::string, std::string> settings;  // config_toml's, without quotes; defaults for what an older one lacks
  std::uint64_t seed = 0;
  std::int64_t step = 0, steps = 0, tokens = 0, parameters = 0, sequences = 0, context = 0;
  Curves curves;
  double seconds = 0;                                 // by its own clock, that of the last line of its metrics.jsonl
  std::int64_t skipped_steps = 0, first_skipped = 0;  // whose loss or gradient was not finite
  std::string failure;  // why it ended without its numbers, in one line, where `sweep` says so (failure.txt)
  // Of a run that is not finished the last measurement in its metrics.jsonl (no tables, no maps); none before the
  // first.
  std::optional<Evaluation> evaluation;
  bool finished = false;             // the numbers are those of its end, or of a checkpoint that was measured
  std::int64_t unfinished_step = 0;  // where not finished: the step of `evaluation`, 0 without one

  // Proxy and raw weights are the same thing, because every row sums to one, the extra key's weight included.
  bool rows_sum_to_one() const;
  // "at step 300 of 6000, not finished"; "" where there is nothing to remark.
  std::string mark() const;
};

// "softmax" of "position=Rotary ... attention=Softmax"; without policies the ablation or the name.
std::string attention_of(const Run& run);

// Whether read_run_folder would find a run there.
bool is_run_folder(const std::string& folder);

// Throws Error (Exit::bad_input) naming the file, what was expected and what came.
Run read_run_folder(const std::string& folder);

// One measurement, an evaluation.json by itself or the JSON of `eval_<ablation> sink`, or those that the latter's
// --all-inputs makes in one file, in its order.
std::vector<Run> read_measurements(const std::string& file);

}  // namespace sink::report
