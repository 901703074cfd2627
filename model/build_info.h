// Which source this program was built from.
#pragma once

#include <string>

namespace sink {

// The commit of the source folder, "-dirty" behind it when files differ from the commit; "unknown" where the source
// folder or git is not at hand. Asked of git at the first call.
const std::string& build_commit();

}  // namespace sink
