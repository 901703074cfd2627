// What tests of files and errors share: a folder that goes away, the bytes of files, a disk that is full, and what an
// action throws.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

// "" where there is no such file.
inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// While it lives, no file can grow beyond `bytes`: write() fails half-way, as on a full disk, here and in programs that
// are started.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = {static_cast<rlim_t>(bytes), old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_;
  void (*old_handler_)(int);
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

// Both as one text, "exit 3 [tokenizer] ...".
template <class Action>
std::string error_of(Action&& action) {
  std::string message;
  Exit code = exit_of(action, &message);
  return code == Exit::ok ? "no error" : "exit " + std::to_string(static_cast<int>(code)) + " " + message;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace sink
