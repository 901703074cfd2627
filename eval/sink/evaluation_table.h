// An Evaluation as a table for people.
#pragma once

#include <string>

#include "eval/sink/evaluation.h"

namespace sink {

// A few lines that fit 100 columns: sinks of the first keys, then one line per layer. `input` names what was measured.
std::string evaluation_table(const Evaluation& evaluation, const std::string& input);

}  // namespace sink
