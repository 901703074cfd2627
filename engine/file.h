// Files read whole, and files that appear whole or not at all: written beside their final place, flushed to the disk,
// then renamed over it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sink {

// The bytes of a file. Throws Error (Exit::bad_input) where it is missing, a folder or unreadable; `tag` names the
// reader.
std::string read_file(const char* tag, const std::string& path);

// Writes `bytes` as the file `path`, replacing an older one only once the new one is safe on the disk. Throws Error
// (Exit::io) with the system's reason; the older file is then untouched and no temporary stays behind.
void write_file_atomically(const std::string& path, std::string_view bytes);

struct NamedBytes {
  std::string path;
  std::string_view bytes;
};

// The same for files that belong together: none is replaced before all are safe on the disk; then they are renamed in
// the given order.
void write_files_atomically(const std::vector<NamedBytes>& files);

// The same in steps, for a writer that wants to look at its file before it counts.
class TemporaryFile {
 public:
  // Creates `.<name>.tmp-<pid>` in the folder of `path` and removes those of processes that died. Refuses when the disk
  // has not `bytes` to spare.
  TemporaryFile(const std::string& path, std::size_t bytes);
  ~TemporaryFile();  // removes the file unless it was committed
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void close();   // flushes to the disk first
  void commit();  // renames over `path` and flushes the folder; after close()
  const std::string& path() const { return temporary_path_; }

 private:
  std::string final_path_;
  std::string temporary_path_;
  int descriptor_ = -1;
};

// write(2) until all is written. Returns 0, or the errno of what failed.
int write_all(int descriptor, const void* data, std::size_t bytes);

// Throws Error (Exit::io): "cannot <what> <path>: <the system's reason>", with advice where there is some.
[[noreturn]] void fail_io(const std::string& what, const std::string& path, int error_number);

}  // namespace sink
