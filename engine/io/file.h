// Reading whole files, and writing files atomically: into a temporary next to the destination, which is flushed to the
// disk and then renamed over it.
//
// Symbolic links are followed and kept, an existing file keeps its permissions and owner, and what is not a regular
// file (a device, a pipe, /dev/stdout) is written directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sink {

// The bytes of a file, or its first `max_bytes`: a device may have no end. Throws Error (Exit::bad_input) where it is
// missing, a folder or unreadable; `tag` names the reader.
std::string read_file(const char* tag, const std::string& path, std::size_t max_bytes = SIZE_MAX);

// For a file that is found by its name in a folder, and not given by the user: reading a pipe would block, and a device
// may have no end. Throws Error (Exit::bad_input) where `path` exists and is neither a regular file nor a link to one.
void require_regular_file(const std::string& path);

// Writes `bytes` to the file `path`. An older file is replaced only after the new one is safe on the disk. Throws Error
// (Exit::io) with the system's reason; the older file is then unchanged and no temporary remains.
void write_file_atomically(const std::string& path, std::string_view bytes);

struct NamedBytes {
  std::string path;
  std::string_view bytes;
};

// The same for files that belong together: no file is replaced before all are safe on the disk. They are renamed in the
// given order.
void write_files_atomically(const std::vector<NamedBytes>& files);

// Owns a file descriptor; -1: none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  operator int() const { return number_; }
  // Returns 0, or the errno of close(2).
  int close();

 private:
  int number_;
};

// Memory-mapped bytes of a file.
class MappedBytes {
 public:
  MappedBytes() = default;
  // `bytes` bytes of an open file from `offset` on, all within the file. They stay valid after the file is closed or
  // replaced. Throws Error (Exit::io).
  MappedBytes(int descriptor, std::uint64_t offset, std::size_t bytes);
  ~MappedBytes();
  MappedBytes(MappedBytes&& other) noexcept { *this = static_cast<MappedBytes&&>(other); }
  MappedBytes& operator=(MappedBytes&& other) noexcept;

  const unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* pages_ = nullptr;  // page-aligned
  std::size_t page_bytes_ = 0;
  const unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
};

// write_file_atomically in steps, for a caller that checks the temporary before commit().
class OutputFile {
 public:
  // Creates a temporary in the folder of the file that `path` resolves to and removes temporaries of dead processes.
  // Throws where the disk has less than `bytes` free, and where `path` is a folder or a block device.
  OutputFile(const std::string& path, std::size_t bytes);
  ~OutputFile();  // removes the temporary unless it was committed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void close();   // flushes to the disk first
  void commit();  // renames over what `path` resolves to and flushes the folder; after close()
  // The path of the temporary until commit(); empty where a device or a pipe is written directly.
  const std::string& temporary() const { return temporary_path_; }

 private:
  std::string path_;            // as it was given, for messages
  std::string final_path_;      // with its links resolved
  std::string temporary_path_;  // empty: written directly
  FileDescriptor descriptor_;
};

// Flushes the folder of `path` to the disk, after a rename in it. Throws Error (Exit::io).
void sync_folder(const std::string& path);

// Creates a folder and the missing ones above it, and flushes their names to the disk: a file that is flushed into a
// folder whose name was not is lost with it. Throws Error (Exit::io).
void make_folders(const std::string& path);

// The folder of `path`; "." where it has none.
std::string folder_of(const std::string& path);

// The file that the links of `path` resolve to; it need not exist. A link under /proc/<this process>/fd (where
// /dev/stdout leads) is not resolved: `own_descriptor` becomes its number and is otherwise unchanged. Throws Error
// (Exit::io) for circular links.
std::string follow_links(std::string path, int& own_descriptor);

// Calls write(2) until all bytes are written. Returns 0 or an errno.
int write_all(int descriptor, const void* data, std::size_t bytes);
// Calls pread(2) until `bytes` are read or the file ends. Returns the number read; `error` becomes 0 or an errno.
std::size_t read_at(int descriptor, std::uint64_t offset, void* data, std::size_t bytes, int& error);

// Whether an errno means that the system lacks file descriptors or memory, which is not a fault of the file.
bool is_shortage(int error_number);

// Throws Error: "cannot <what> <path>: <the system's reason>", with advice where there is some. Exit::out_of_memory for
// a shortage, else Exit::io.
[[noreturn]] void fail_io(const std::string& what, const std::string& path, int error_number);

}  // namespace sink
