#include "engine/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>

#include "engine/check.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string temporary_prefix(const std::string& path) {
  std::string prefix = ".";
  prefix += fs::path(path).filename().string();
  return prefix + ".tmp-";
}

// A process killed while it saved leaves its temporary; nobody else will ever want it.
void remove_orphans(const std::string& path) {
  std::string prefix = temporary_prefix(path);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_of(path), ignored)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    long owner = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (owner > 0 && ::kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH) fs::remove(entry.path(), ignored);
  }
}

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

void sync_folder(const std::string& path) {
  int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_io("open the folder of", path, errno);
  int failed = ::fsync(folder) != 0 ? errno : 0;
  ::close(folder);
  // Some network file systems cannot flush a folder and say so; the rename itself has happened.
  if (failed != 0 && failed != EINVAL && failed != ENOTSUP) fail_io("flush the folder of", path, failed);
}

}  // namespace

std::string read_file(const char* tag, const std::string& path) {
  struct stat about;
  SINK_CHECK(::stat(path.c_str(), &about) == 0, tag, path + ": " + std::strerror(errno), Exit::bad_input);
  SINK_CHECK(!S_ISDIR(about.st_mode), tag, path + ": is a folder, expected a file", Exit::bad_input);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  SINK_CHECK(file != nullptr, tag, path + ": " + std::strerror(errno), Exit::bad_input);
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file);
  // What cannot say its size beforehand (a pipe) is read piece by piece.
  std::array<char, 1 << 16> piece;
  if (got == bytes.size()) {
    while (std::size_t more = std::fread(piece.data(), 1, piece.size(), file)) bytes.append(piece.data(), more);
  }
  bool whole = !std::ferror(file) && got >= static_cast<std::size_t>(about.st_size);
  std::fclose(file);
  SINK_CHECK(whole, tag, path + ": could not be read to its end", Exit::bad_input);
  return bytes;
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

void fail_io(const std::string& what, const std::string& path, int error_number) {
  std::string advice;
  if (error_number == ENOSPC || error_number == EDQUOT) advice = "; free some space and try again";
  if (error_number == EFBIG) advice = "; raise the limit on file sizes (ulimit -f)";
  throw Error("cannot " + what + " " + path + ": " + std::strerror(error_number) + advice, Exit::io);
}

TemporaryFile::TemporaryFile(const std::string& path, std::size_t bytes) : final_path_(path) {
  require_space(path, bytes);
  remove_orphans(path);
  temporary_path_ = folder_of(path) + "/" + temporary_prefix(path) + std::to_string(::getpid());
  descriptor_ = ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_io("write", path, errno);
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

void TemporaryFile::write(const void* data, std::size_t bytes) {
  if (int error = write_all(descriptor_, data, bytes)) fail_io("write", final_path_, error);
}

void TemporaryFile::close() {
  if (::fsync(descriptor_) != 0) fail_io("flush", final_path_, errno);
  // Whoever reads the file back now reads the disk, not the memory it was written from.
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
  int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail_io("close", final_path_, errno);
}

void TemporaryFile::commit() {
  if (::rename(temporary_path_.c_str(), final_path_.c_str()) != 0) fail_io("replace", final_path_, errno);
  temporary_path_.clear();
  sync_folder(final_path_);
}

void write_file_atomically(const std::string& path, std::string_view bytes) { write_files_atomically({{path, bytes}}); }

void write_files_atomically(const std::vector<NamedBytes>& files) {
  std::deque<TemporaryFile> temporaries;
  for (const NamedBytes& file : files) {
    TemporaryFile& temporary = temporaries.emplace_back(file.path, file.bytes.size());
    temporary.write(file.bytes.data(), file.bytes.size());
    temporary.close();
  }
  for (TemporaryFile& temporary : temporaries) temporary.commit();
}

}  // namespace sink
