// A run: config.toml, the curves of metrics.jsonl and evaluation.json; or one measurement that `eval_<ablation> sink`
// wrote.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/sink/measures.h"

namespace sink::report {

using Row = std::vector<double>;
using Table = ValueTable;

// A missing value.
inline constexpr double kNaN = kNotMeasured;

// The stored attention patterns of a measurement, raw weights. Layers and heads count from 0.
struct AttentionMaps {
  std::int64_t layers = 0, heads = 0;
  bool extra_key = false;                        // column 0 of every row is the extra key `*`
  std::vector<std::vector<std::string>> tokens;  // [sequence][T]; a sink token is the first of them
  // [(sequence * layers + layer) * heads + head]: T rows of (extra_key + T) weights, row-major, zero where a query does
  // not see a key; empty where the pattern was not stored.
  std::vector<std::vector<double>> weights;
  struct Chosen {
    std::int64_t sequence = 0, layer = 0, head = 0;
  } chosen;  // the pattern to show first; always stored

  const std::vector<double>& at(std::int64_t sequence, std::int64_t layer, std::int64_t head) const {
    return weights[static_cast<std::size_t>((sequence * layers + layer) * heads + head)];
  }
};

// An evaluation that was read, and what was measured. `loss` is that of text only, so that losses are comparable.
struct Measurement : Evaluation {
  // What is no measure: input_loss (the loss on any input), alpha_others_raw (mean of the raw alpha_k, k = 2..10),
  // onset_sink_1 and onset_massive, change_removed_1 and similar where the run has them (evaluation_reader.h).
  std::map<std::string, double> scalar;
  std::string input = "text";    // text: the run's own validation sequences | random | repeated | ...
  std::uint64_t input_seed = 0;  // of random and repeated tokens
  std::string data;              // the folder of the text, if known
  std::string data_sha256;       // of the tokens of that folder; empty if unknown, and for other input
  std::string input_sha256;      // of the ids of given tokens or a sentence; else empty
  std::string positions;         // "swap:5": the edit of the learned positions of the measured model; empty: none
  std::optional<AttentionMaps> maps;

  double* measure(const std::string& name);             // the scalar of that name; null for another name
  double get(const std::string& name) const;            // of a measure, or in `scalar`; NaN when absent
  double sink_at(double epsilon, bool raw) const;       // NaN when absent
  double sink_star_at(double epsilon, bool raw) const;  // NaN when absent
  double whole_row_sum() const;                         // with the extra key; NaN if unknown
  // How many rows see the first token in the block where they are fewest; 0: unknown, of an older program, which
  // divided alpha_k by T - k + 1 in blocks with a window, too.
  std::int64_t fewest_first_key_rows() const;
  bool has_heads() const { return !proxy.alpha_1_layer_head.empty() && !proxy.alpha_1_layer_head[0].empty(); }
};
inline constexpr const char *kInputLoss = "input_loss", *kAlphaOthersRaw = "alpha_others_raw";

// Columns of metrics.jsonl by name, all as long as `step`; NaN where a line lacks the key. Measurements of training,
// and val_loss, sink_1[_raw], sink_star[_raw], alpha_1[_raw], alpha_star[_raw], row_mass, extra_key_mass, ...
using Curves = std::map<std::string, Row>;

struct Run {
  std::string folder;  // or the file
  std::string name;    // of a measurement with its input and edit: "first, positions swap:5, random input"
  // Of a measurement: the model's name; `input` only in files with several inputs.
  std::string model, input;
  std::string task = "unknown";
  std::string ablation;   // empty (unknown) in unfinished runs of older programs
  std::string policies;   // likewise
  std::string attention;  // the Attention of `policies`, in lower case; else the ablation or the name
  std::string commit, date, precision, config_toml;
  std::string measured_config;                  // config_toml in its evaluation.json; empty if unknown
  std::string machine;                          // the processor it was trained on; empty if unknown
  std::string data_sha256;                      // of the training tokens; empty if unknown
  std::string initial_sha256;                   // of the parameters it started from; empty if drawn, or unknown
  std::map<std::string, std::string> settings;  // of config_toml, without quotes; defaults for missing ones
  std::uint64_t seed = 0;
  std::int64_t step = 0, steps = 0, tokens = 0, parameters = 0, sequences = 0, context = 0;
  std::int64_t ranks = 1;  // that trained it to its end, each with `threads`
  Curves curves;
  double seconds = 0;                                 // wall time in the last line of metrics.jsonl
  std::int64_t skipped_steps = 0, first_skipped = 0;  // steps with a loss or gradient that was not finite
  std::string failure;                                // first line of failure.txt, which `sweep` writes
  // Of an unfinished run the last measurement in its metrics.jsonl (no tables, no maps).
  std::optional<Measurement> evaluation;
  bool finished = false;             // `evaluation` is of the end of training, or of a measured checkpoint
  std::int64_t unfinished_step = 0;  // of an unfinished run: the step of `evaluation`, 0 without one

  // False for a model of another program that was only measured here.
  bool trained_here() const { return model.empty() || !config_toml.empty(); }
  bool in_progress() const { return !finished && failure.empty(); }
  // Of a measurement: the model's name and its edit, "first, positions swap:5".
  std::string edited_model() const;
  // Whether proxy and raw weights are equal: every row sums to one, the extra key's weight included.
  bool rows_sum_to_one() const;
  // "at step 300 of 6000, not finished", "failed: out of memory"; "" for a finished run.
  std::string status() const;
};

// "softmax" of "position=Rotary ... attention=Softmax"; without policies the ablation or the name.
std::string attention_of(const Run& run);

bool is_run_folder(const std::string& folder);

// Throws Error (Exit::bad_input) with the file, the expected and the actual value.
Run read_run_folder(const std::string& folder);

// One measurement (an evaluation.json or the JSON of `eval_<ablation> sink`), or all of a file of --all-inputs, natural
// tokens first.
std::vector<Run> read_measurements(const std::string& file);

// The runs of `paths`, in order: a run folder; a folder of run folders, by name; a file that `eval_<ablation> sink`
// wrote. Equal names get the path appended. Throws Error (Exit::bad_input) for any other path.
std::vector<Run> read_runs(const std::vector<std::string>& paths);

}  // namespace sink::report
