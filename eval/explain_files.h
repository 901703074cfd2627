// Texts that eval_<ablation> carries as they were when it was built: attention_op.h, whose formulas `explain` quotes.
#pragma once

#include <string>

namespace sink {

// By name ("attention_op.h"). Throws Error when there is none.
std::string explain_file(const std::string& name);

}  // namespace sink
