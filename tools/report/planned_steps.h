// The steps that a run was meant to make.
#pragma once

#include <cstdint>

#include "tools/report/run_reader.h"

namespace sink::report {

// The planned steps of a run: those of its recipe in this repository (tools/quickstart_bigram.toml,
// tools/quickstart_text.toml, train/studies/recipes/text.toml), if the run has all settings of the recipe except steps
// and the intervals of measuring and saving; else the run's own. Of several such recipes the fewest steps that are not
// below the run's own, or the most. 0 if the settings are unknown.
std::int64_t planned_steps(const Run& run);

}  // namespace sink::report
