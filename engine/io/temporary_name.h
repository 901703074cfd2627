// Temporary files and folders, named `.<name>.tmp-<process>-<machine>-<random>`. The random part cannot be predicted,
// so no attacker can place a link there. Process and machine tell which temporaries are orphans.
#pragma once

#include <string>

namespace sink {

// A new name for a temporary of this process that becomes `path`. The caller creates it with O_EXCL or mkdir(2).
std::string temporary_name(const std::string& path);

// Removes the orphans of `path`, files and folders: those of processes of this machine that ended, and those of another
// host or container, whose processes cannot be seen from here, after a day without a write.
void remove_orphans(const std::string& path);

}  // namespace sink
