// Files read whole, and files that appear whole or not at all: written beside their final place, flushed to the disk,
// then renamed over it.
//
// What stands at a path is respected: a link stays and leads to the new file, a file keeps its permissions and owner,
// and what is no file (a device, a pipe, /dev/stdout) is written to as it is.
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
class OutputFile {
 public:
  // Creates a temporary (temporary_name.h) in the folder of the file that `path` leads to; removes those of processes
  // that died. Refuses when the disk has not `bytes` to spare, and where a folder or a whole disk stands in the way.
  OutputFile(const std::string& path, std::size_t bytes);
  ~OutputFile();  // removes the temporary unless it was committed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void close();   // flushes to the disk first
  void commit();  // renames over what `path` leads to and flushes the folder; after close()
  // What was written so far, until commit(); empty where the bytes went to a device or a pipe and cannot be looked at.
  const std::string& temporary() const { return temporary_path_; }

 private:
  std::string path_;            // as it was given, for messages
  std::string final_path_;      // where its links lead
  std::string temporary_path_;  // empty: written directly
  int descriptor_ = -1;
};

// The file that the links of `path` lead to; it need not be there. A link under /proc/<this process>/fd, where
// /dev/stdout leads, is no path to go on with (the file may be deleted, or in use by others from that place on): its
// number comes back in `own_descriptor`, which is else left as it is. Throws Error (Exit::io) for links in a circle.
std::string follow_links(std::string path, int& own_descriptor);

// write(2) until all is written. Returns 0, or the errno of what failed.
int write_all(int descriptor, const void* data, std::size_t bytes);

// Whether the system lacks file descriptors or memory, which says nothing about a file.
bool is_shortage(int error_number);

// Throws Error: "cannot <what> <path>: <the system's reason>", with advice where there is some. Exit::out_of_memory for
// a shortage, else Exit::io.
[[noreturn]] void fail_io(const std::string& what, const std::string& path, int error_number);

}  // namespace sink
