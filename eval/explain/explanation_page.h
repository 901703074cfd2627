// An Explanation as one page that plays its row step by step, forward and backward; opened from a disk, without
// network.
#pragma once

#include <string>

#include "engine/io/output_kind.h"
#include "eval/explain/explanation_table.h"

namespace sink {

// With as many of the explanation's rows to choose from as make a page below 1 MB: all, or the asked one. `command`
// prints the same numbers.
std::string explanation_page(const Explanation& explanation, const ExplanationStyle& style, const std::string& command);

OutputKind explanation_page_kind();

}  // namespace sink
