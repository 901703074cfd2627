// Whether the sizes that a file of another program gives make a model.
#pragma once

#include <string>

#include "model/open/open_config.h"

namespace sink {

// Throws Error (Exit::corrupt_checkpoint), naming the size, where one is out of its bounds, and where they make no
// model together. Bounds are narrower than those of flags, since what no model has is a damaged file; and where 0 is a
// default of flags, it is none here: what reads a file puts in the default of what the file lacks.
void check_open_sizes(const std::string& path, const OpenConfig& config);

}  // namespace sink
