#include "engine/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <system_error>

#include "engine/check.h"
#include "engine/io/temporary_name.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

void require_space(const std::string& path, std::size_t bytes) {
  struct statvfs disk;
  if (::statvfs(folder_of(path).c_str(), &disk) != 0) fail_io("write", path, errno);
  auto free_bytes = static_cast<unsigned long long>(disk.f_bavail) * disk.f_frsize;
  if (free_bytes < bytes) {
    throw Error("cannot write " + path + ": it needs " + std::to_string(bytes) + " bytes and the disk has " +
                    std::to_string(free_bytes) + " left; free some space and try again",
                Exit::io);
  }
}

// Without the right to change the owner, the setuid and setgid bits are dropped.
void keep_owner_and_mode(int descriptor, const struct stat& old) {
  mode_t mode = old.st_mode & 07777;
  if (::fchown(descriptor, old.st_uid, old.st_gid) != 0) mode &= 0777;
  ::fchmod(descriptor, mode);
}

}  // namespace

std::string folder_of(const std::string& path) {
  fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string read_file(const char* tag, const std::string& path, std::size_t max_bytes) {
  struct stat about;
  SINK_CHECK(::stat(path.c_str(), &about) == 0, tag, "cannot read " + path + ": " + std::strerror(errno),
             Exit::bad_input);
  SINK_CHECK(!S_ISDIR(about.st_mode), tag, "cannot read " + path + ": it is a folder, expected a file",
             Exit::bad_input);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr && is_shortage(errno)) fail_io("open", path, errno);
  SINK_CHECK(file != nullptr, tag, "cannot read " + path + ": " + std::strerror(errno), Exit::bad_input);
  const std::size_t at_least = std::min(static_cast<std::size_t>(about.st_size), max_bytes);
  std::string bytes(at_least, '\0');
  std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file);
  // A pipe has no size; it is read in blocks until its end.
  std::array<char, 1 << 16> piece;
  if (got == bytes.size()) {
    while (std::size_t more = std::fread(piece.data(), 1, std::min(piece.size(), max_bytes - bytes.size()), file))
      bytes.append(piece.data(), more);
  }
  bool whole = !std::ferror(file) && got >= at_least;
  std::fclose(file);
  SINK_CHECK(whole, tag, path + ": could not be read to its end", Exit::bad_input);
  return bytes;
}

void require_regular_file(const std::string& path) {
  struct stat about;
  if (::stat(path.c_str(), &about) != 0 || S_ISREG(about.st_mode)) return;
  throw Error(path + " is not a regular file; expected a file that a program wrote: remove it", Exit::bad_input);
}

int write_all(int descriptor, const void* data, std::size_t bytes) {
  auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t written = ::write(descriptor, from, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

std::size_t read_at(int descriptor, std::uint64_t offset, void* data, std::size_t bytes, int& error) {
  std::size_t done = 0;
  for (error = 0; done < bytes;) {
    ssize_t got = ::pread(descriptor, static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

FileDescriptor::~FileDescriptor() { close(); }

int FileDescriptor::close() {
  const int number = std::exchange(number_, -1);
  return number >= 0 && ::close(number) != 0 ? errno : 0;
}

std::string follow_links(std::string path, int& own_descriptor) {
  for (int links = 0; links < 40; ++links) {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
    fs::path folder = fs::canonical(folder_of(path), error);
    std::string name = fs::path(path).filename().string();
    if (folder.filename() == "fd" && folder.string().starts_with("/proc/" + std::to_string(::getpid()) + "/")) {
      own_descriptor = std::atoi(name.c_str());
      return path;
    }
    fs::path target = fs::read_symlink(path, error);
    if (error) fail_io("follow the link", path, error.value());
    path = (target.is_absolute() ? target : folder / target).string();
  }
  fail_io("follow the link", path, ELOOP);
}

bool is_shortage(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM;
}

void fail_io(const std::string& what, const std::string& path, int error_number) {
  std::string advice;
  if (error_number == EMFILE) advice = "; raise the limit on open files (ulimit -n)";
  if (error_number == ENOMEM) advice = "; free some memory, or raise the limit on it (ulimit -v)";
  if (error_number == ENOSPC || error_number == EDQUOT) advice = "; free some space and try again";
  if (error_number == EFBIG) advice = "; raise the limit on file sizes (ulimit -f)";
  throw Error("cannot " + what + " " + path + ": " + std::strerror(error_number) + advice,
              is_shortage(error_number) ? Exit::out_of_memory : Exit::io);
}

MappedBytes::MappedBytes(int descriptor, std::uint64_t offset, std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t before = offset % page;
  page_bytes_ = static_cast<std::size_t>(before) + bytes;
  void* pages = ::mmap(nullptr, page_bytes_, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(offset - before));
  if (pages == MAP_FAILED) fail_io("map", "the file to memory", errno);
  pages_ = pages;
  data_ = static_cast<const unsigned char*>(pages_) + before;
}

MappedBytes::~MappedBytes() {
  if (pages_) ::munmap(pages_, page_bytes_);
}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(page_bytes_, other.page_bytes_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void sync_folder(const std::string& path) {
  const FileDescriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder < 0) fail_io("open the folder of", path, errno);
  // Some network file systems cannot flush a folder; the rename itself has happened.
  if (::fsync(folder) != 0 && errno != EINVAL && errno != ENOTSUP) fail_io("flush the folder of", path, errno);
}

void make_folders(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> missing;
  fs::path folder = path;
  if (!folder.has_filename()) folder = folder.parent_path();  // "runs/one/"
  for (; !folder.empty() && !fs::exists(folder, error); folder = folder.parent_path()) missing.push_back(folder);
  // A process that was killed after mkdir may not have flushed this name. Those above it were flushed before.
  if (!folder.empty() && ::access(folder_of(folder.string()).c_str(), R_OK) == 0) sync_folder(folder.string());
  for (; !missing.empty(); missing.pop_back()) {
    fs::create_directory(missing.back(), error);
    if (error) fail_io("make the folder", missing.back().string(), error.value());
    sync_folder(missing.back().string());
  }
  if (!path.empty() && !fs::is_directory(path, error)) fail_io("make the folder", path, ENOTDIR);
}

OutputFile::OutputFile(const std::string& path, std::size_t bytes) : path_(path), final_path_(path) {
  int own_descriptor = -1;
  final_path_ = follow_links(path, own_descriptor);
  if (own_descriptor >= 0) {
    std::fflush(nullptr);  // keeps the order of what was printed before
    descriptor_ = FileDescriptor(::fcntl(own_descriptor, F_DUPFD_CLOEXEC, 0));
    if (descriptor_ < 0) fail_io("write", path_, errno);
    return;
  }
  struct stat there;
  bool exists = ::stat(final_path_.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) fail_io("write", path_, EISDIR);
  if (exists && S_ISBLK(there.st_mode)) {
    throw Error("cannot write " + path_ + ": it is a whole disk (a block device); expected a file", Exit::io);
  }
  if (exists && !S_ISREG(there.st_mode)) {
    descriptor_ = FileDescriptor(::open(final_path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (descriptor_ < 0) fail_io("write", path_, errno);
    return;
  }
  require_space(final_path_, bytes);
  remove_orphans(final_path_);
  temporary_path_ = temporary_name(final_path_);
  descriptor_ = FileDescriptor(::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                      exists ? there.st_mode & 0600 : 0666));
  if (descriptor_ < 0) fail_io("write", path_, errno);
  if (exists) keep_owner_and_mode(descriptor_, there);
}

OutputFile::~OutputFile() {
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

void OutputFile::write(const void* data, std::size_t bytes) {
  if (int error = write_all(descriptor_, data, bytes)) fail_io("write", path_, error);
}

void OutputFile::close() {
  if (!temporary_path_.empty()) {
    if (::fsync(descriptor_) != 0) fail_io("flush", path_, errno);
    // So that reading the file back reads the disk, not the page cache.
    ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
  }
  if (int error = descriptor_.close()) fail_io("close", path_, error);
}

void OutputFile::commit() {
  if (temporary_path_.empty()) return;
  if (::rename(temporary_path_.c_str(), final_path_.c_str()) != 0) fail_io("replace", path_, errno);
  temporary_path_.clear();
  sync_folder(final_path_);
}

void write_file_atomically(const std::string& path, std::string_view bytes) { write_files_atomically({{path, bytes}}); }

void write_files_atomically(const std::vector<NamedBytes>& files) {
  std::deque<OutputFile> outputs;
  for (const NamedBytes& file : files) {
    OutputFile& output = outputs.emplace_back(file.path, file.bytes.size());
    output.write(file.bytes.data(), file.bytes.size());
    output.close();
  }
  for (OutputFile& output : outputs) output.commit();
}

}  // namespace sink
