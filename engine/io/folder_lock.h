// Lets one program at a time write into a folder. The lock is flock(2) on the file `.lock` in it, which the system
// releases when its holder ends for any reason; the text of the file only describes the holder.
#pragma once

#include <string>

#include "engine/io/file.h"

namespace sink {

inline constexpr const char* kLockName = ".lock";

class FolderLock {
 public:
  FolderLock() = default;  // holds nothing
  // Locks an existing folder. Throws Error: Exit::usage where it is locked, with the program, process, host and time of
  // the holder; Exit::io where the folder cannot be written. A note on stderr reports a file system without locks, and
  // a stale lock of another host.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();  // removes the file and releases the lock
  FolderLock(FolderLock&&) noexcept = default;
  FolderLock& operator=(FolderLock&&) noexcept = default;  // of one that holds nothing

 private:
  std::string path_;
  FileDescriptor descriptor_;
};

}  // namespace sink
