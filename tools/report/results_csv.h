// results.csv: one line per run with the final evaluation, for plotting elsewhere.
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// Columns run,task,ablation,seed,steps,step,tokens,val_loss,sink_1,sink_1_raw,alpha_1,alpha_1_raw,alpha_1_max,row_mass,
// first_value_norm_ratio, then sink_1_eps<e> and sink_1_raw_eps<e> for every epsilon in use. sink_1 is at 0.3. Numbers
// are %.9g; what a run does not have is an empty field. Quoted as RFC 4180 asks.
std::string results_csv(const std::vector<Run>& runs);

}  // namespace sink::report
