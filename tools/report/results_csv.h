// results.csv: one line per run, for plotting elsewhere.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// What was run: run,task,ablation,label,finished,measured_step,steps,step,tokens,seed; what was measured:
// input,input_seed,extra,measured_context,measured_sequences,measured_precision; numbers: val_loss (of the run's own
// text), input_loss (of whatever the input was), sink_1, sink_1_raw, sink_star, sink_star_raw (all at 0.3), alpha_1,
// alpha_1_raw, alpha_1_max, alpha_star, alpha_star_raw, row_mass, extra_key_mass (the extra key's part of a row, not in
// row_mass), entropy, first_value_norm_ratio, sink_2, sink_3; the sinks again for every epsilon in use, sink_1_eps<e>
// and so on; then seconds (by its own clock), skipped_steps and the first of them, failure (why it has no numbers),
// commit, date, machine, data_sha256 (of its tokens), policies and every saved setting of any run, under its name in
// config.toml with _ for -. In a run that has not finished, the numbers are those of measured_step. What a run does not
// have is an empty field.
std::string results_csv(const std::vector<Run>& runs);

// The runs of such a file, which people may have edited: everything that its columns hold, without curves, tables and
// maps. Columns may stand in any order; those that an older program did not write may lack. Throws Error
// (Exit::bad_input) naming `file`, line and column: for unknown, doubled and missing columns, lines with more or fewer
// fields than the header, and fields that are not what the column holds.
std::vector<Run> read_results_csv(const std::string& text, const std::string& file);

}  // namespace sink::report
