// The files of the pages of `explain` and `view`, which are compiled into the programs.
#pragma once

#include <string>

namespace sink {

// The text of a file of eval/explain/page or eval/attention/page, by its name. Throws Error for an unknown one.
std::string eval_file(const std::string& name);

}  // namespace sink
