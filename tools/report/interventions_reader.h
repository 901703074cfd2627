// interventions.json of a run: how its loss changes without the first token's share, and with rounded numbers.
#pragma once

#include <string>

#include "tools/report/run_reader.h"

namespace sink::report {

// Puts into the run's evaluation `change_removed_1`, `change_w4a4`, ... (nats; eval/interventions/interventions.h), by
// the names in the file; nothing where the file is of another step than the evaluation. Throws Error (Exit::bad_input).
void read_interventions(const std::string& file, Run& run);

}  // namespace sink::report
