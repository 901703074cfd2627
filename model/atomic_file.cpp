#include "model/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
  if (::statvfs(folder_of(path).c_str(), &disk) != 0) fail_io("look at the folder of", path, errno);
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
  auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t written = ::write(descriptor_, from, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_io("write", final_path_, written < 0 ? errno : ENOSPC);
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
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

void write_file_atomically(const std::string& path, std::string_view bytes) {
  TemporaryFile file(path, bytes.size());
  file.write(bytes.data(), bytes.size());
  file.close();
  file.commit();
}

}  // namespace sink
