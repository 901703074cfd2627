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
// row_mass), entropy, first_value_norm_ratio; the sinks again for every epsilon in use, sink_1_eps<e> and so on; then
// commit, date, policies and every saved setting of any run, under its name in config.toml with _ for -. In a run that
// has not finished, the numbers are those of measured_step. What a run does not have is an empty field.
std::string results_csv(const std::vector<Run>& runs);

}  // namespace sink::report
