#include "engine/io/temporary_name.h"

#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/io/file.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

std::string temporary_prefix(const std::string& path) {
  std::string prefix = ".";
  prefix += fs::path(path).filename().string();
  return prefix + ".tmp-";
}

}  // namespace

std::string folder_of(const std::string& path) {
  fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string temporary_name(const std::string& path) {
  std::uint64_t random = 0;
  while (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    if (errno != EINTR) fail_io("choose a temporary name for", path, errno);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(random));
  return folder_of(path) + "/" + temporary_prefix(path) + std::to_string(::getpid()) + "-" + digits;
}

void remove_orphans(const std::string& path) {
  const std::string prefix = temporary_prefix(path);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_of(path), ignored)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    long owner = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (owner > 0 && ::kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace sink
