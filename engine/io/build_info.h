// Which source this program was built from.
#pragma once

#include <string>

namespace sink {

// The commit of the sources at the last build, "-dirty" behind it when they differed from the commit; "unknown" where
// there was no git.
const std::string& build_commit();

}  // namespace sink
