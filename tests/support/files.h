// What tests of files and errors share: a folder that goes away, the bytes of files, a disk that is full, and what an
// action throws.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "engine/check.h"

namespace sink {

// A fresh folder that goes away with the object.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sinklab-test-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path + "/" + name; }

  std::string path;
};

inline long entries(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

// "" where there is no such file. By the library's own loop, since tests are not optimized.
inline std::string read_bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A soft limit of this process and of programs that it starts, while it lives.
class ResourceLimit {
 public:
  ResourceLimit(decltype(RLIMIT_AS) resource, std::size_t most) : resource_(resource) {
    ::getrlimit(resource_, &old_);
    rlimit limit = {std::min(static_cast<rlim_t>(most), old_.rlim_max), old_.rlim_max};
    ::setrlimit(resource_, &limit);
  }
  ~ResourceLimit() { ::setrlimit(resource_, &old_); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 private:
  decltype(RLIMIT_AS) resource_;
  rlimit old_;
};

// While it lives, no file can grow beyond `bytes`: write() fails half-way, as on a full disk, here and in programs that
// are started.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes)
      : old_handler_(std::signal(SIGXFSZ, SIG_IGN)), limit_(RLIMIT_FSIZE, bytes) {}
  ~FileSizeLimit() { std::signal(SIGXFSZ, old_handler_); }

 private:
  void (*old_handler_)(int);
  ResourceLimit limit_;
};

// The exit code of the Error that `action` throws (Exit::ok when it throws none), and its message.
template <class Action>
Exit exit_of(Action&& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.code;
  }
  return Exit::ok;
}

// Both as one text, "exit 3 ...".
template <class Action>
std::string error_of(Action&& action) {
  std::string message;
  Exit code = exit_of(action, &message);
  return code == Exit::ok ? "no error" : "exit " + std::to_string(static_cast<int>(code)) + " " + message;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace sink
