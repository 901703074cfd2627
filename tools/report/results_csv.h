// The results of runs: results.csv, one line per run, for other programs, and tables for a terminal.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// What was run: run,task,ablation,label,finished,measured_step,steps,step,tokens,seed; what was measured:
// input,input_seed,extra,measured_context,measured_sequences,measured_precision, measured_data (the folder of the text)
// and measured_data_sha256 (of that folder's tokens), positions (the edit of learned positions); the scalars of
// eval/sink/MEASURES.md, val_loss of text only, with input_loss (of any input), sink_1, sink_1_raw, sink_star,
// sink_star_raw (all at 0.3) and alpha_others_raw (mean of the raw alpha_k, k = 2..10) among them; where a run has them
// onset_sink_1 and onset_massive (steps, -1: never), change_<intervention> and the measures that only some models have;
// alpha_1 and alpha_star by those of even attention; first_key_rows (how many rows see the first token; empty in tables
// of older programs, which divided alpha_k by T - k + 1 under a window, too), sink_2, sink_3; the sinks
// again for every epsilon in use, sink_1_eps<e> and so on; then seconds (wall time), ranks, skipped_steps and the first
// of them, failure (why it has no results), commit, date, machine, data_sha256 (of its tokens), initial_sha256 (of the
// parameters that it started from, if it had a checkpoint), policies and every saved
// setting of any run, under its name in config.toml with _ for -. An unfinished run has the values of measured_step.
// Missing values are empty fields; so are seed, steps and the rest of the training of another program's model.
std::string results_csv(const std::vector<Run>& runs);

// The runs of such a file, which may have been edited; without curves, tables and maps. Columns may be in any order,
// and columns that older programs did not write may be missing. Throws Error (Exit::bad_input) with `file`, line and
// column for unknown, repeated and missing columns, lines of another length than the header, and invalid fields.
std::vector<Run> read_results_csv(const std::string& text, const std::string& file);

// ---- For a terminal (results_table.cpp)

// One table per task, one line per run: name, label, loss (on other input than text in a separate column), sinks in
// percent at epsilon 0.3, proxy and raw, also of the extra key or sink token. An unfinished run has its last
// measurement and its step. Control characters in names are escaped.
std::string results_table(const std::vector<Run>& runs);

}  // namespace sink::report
