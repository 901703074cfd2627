// Names of temporary files and folders: `.<name>.tmp-<process>-<random>` next to the file that they will replace. The
// random part cannot be predicted, so that no link can wait there; the process id tells whose temporary it is.
#pragma once

#include <string>

namespace sink {

// The folder of `path`; "." where it has none.
std::string folder_of(const std::string& path);

// A new name for a temporary of this process that becomes `path`. The caller creates it with O_EXCL or mkdir(2).
std::string temporary_name(const std::string& path);

// Removes the temporaries of `path`, files and folders, whose process no longer exists.
void remove_orphans(const std::string& path);

}  // namespace sink
