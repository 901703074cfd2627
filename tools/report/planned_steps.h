// How many steps a run was to make: those of its recipe, one of the repository's own (tools/quickstart_bigram.toml,
// tools/quickstart_text.toml, train/studies/recipes/text.toml), where all that the recipe sets but steps and how often
// it is measured and saved is the run's; else those that the run was given.
#pragma once

#include <cstdint>

#include "tools/report/run_reader.h"

namespace sink::report {

// Of several such recipes that which the run has come nearest to: the fewest steps that are not below the run's own, or
// the most there are. 0 where the run's settings are not known.
std::int64_t planned_steps(const Run& run);

}  // namespace sink::report
