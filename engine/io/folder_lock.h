// One program at a time writes into a folder. The lock is flock(2) on the file `.lock` in it, which the system lets go
// when its holder ends, however it ends; what stands in the file only says who it is.
#pragma once

#include <string>

namespace sink {

inline constexpr const char* kLockName = ".lock";

class FolderLock {
 public:
  FolderLock() = default;  // holds nothing
  // Takes the lock of a folder that exists. Throws Error: Exit::usage when another holds it, naming its program,
  // process, host and since when; Exit::io when the folder cannot be written. A file system that knows no locks is
  // noted on stderr, and so is a holder on another host that this system knows to be gone.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();  // removes the file and releases the lock
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace sink
