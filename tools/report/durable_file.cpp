// Reading and durable writing of whole files, by system calls, because a stream cannot fsync.
#include "tools/report/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/check.h"

namespace sink::report {
namespace {

// Writes, fsyncs and closes. Returns 0 or the errno of what failed first.
int write_and_sync(int file, const std::string& bytes) {
  std::size_t done = 0;
  int error = 0;
  while (done < bytes.size() && error == 0) {
    const ssize_t n = ::write(file, bytes.data() + done, bytes.size() - done);
    if (n >= 0)
      done += static_cast<std::size_t>(n);
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  // An empty file sets failbit on `bytes`, not on `in`.
  if (in) bytes << in.rdbuf();
  if (!in || in.bad()) fail("read_file", "cannot read " + path + ": " + std::strerror(errno), Exit::bad_input);
  return bytes.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::error_code ignored;  // what matters is whether the file can be opened
  std::filesystem::create_directories(folder, ignored);

  const std::string temporary = path + ".tmp-" + std::to_string(::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("write_file", "cannot write " + path + ": " + std::strerror(errno), Exit::io);
  int error = write_and_sync(file, bytes);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail("write_file", "cannot write " + path + ": " + std::strerror(error), Exit::io);
  }
  const int folder_file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_file >= 0) {
    ::fsync(folder_file);
    ::close(folder_file);
  }
}

}  // namespace sink::report
