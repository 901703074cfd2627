// Natural, random and repeated tokens beside each other, a model in each row (Gu et al. 2025, Table 1 and Figure 2).
#pragma once

#include <string>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// Sink_1 at 0.3, and alpha_1, of the runs that are measurements of one model on several inputs; empty without any. An
// input that a model was not measured on is an en dash; models of one name have their file behind it.
std::string inputs_part(const std::vector<const Run*>& runs);

}  // namespace sink::report
