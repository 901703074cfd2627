// Texts that eval_<ablation> carries as they were when it was built: the page of `explain` (eval/explain/page), and
// attention_op.h, whose formulas it quotes.
#pragma once

#include <string>

namespace sink {

// By name ("attention_op.h"). Throws Error when there is none.
std::string explain_file(const std::string& name);

}  // namespace sink
