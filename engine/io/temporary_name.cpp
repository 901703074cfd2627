#include "engine/io/temporary_name.h"

#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>

#include "engine/io/file.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kForeignLife = 24 * 60 * 60;  // in seconds, since the last write

std::string prefix_of(const std::string& path) {
  return std::string(".").append(fs::path(path).filename().string()).append(".tmp-");
}

// Where process ids mean the same processes: the host, and on it the container.
std::uint32_t this_machine() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::error_code ignored;
  const std::string processes = fs::read_symlink("/proc/self/ns/pid", ignored).string();
  return static_cast<std::uint32_t>(std::hash<std::string>{}(host.data() + processes));
}

bool has_ended(int process) { return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH; }

bool is_old(const std::string& path) {
  struct stat about;
  return ::lstat(path.c_str(), &about) == 0 && about.st_mtime + kForeignLife < std::time(nullptr);
}

}  // namespace

std::string temporary_name(const std::string& path) {
  unsigned long long random = 0;
  while (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    if (errno != EINTR) fail_io("choose a temporary name for", path, errno);
  return folder_of(path) + "/" + prefix_of(path) + str_format("%d-%08x-%016llx", ::getpid(), this_machine(), random);
}

void remove_orphans(const std::string& path) {
  const std::string prefix = prefix_of(path);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_of(path), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    int process = 0;
    std::uint32_t machine = 0;
    const int read = std::sscanf(name.c_str() + prefix.size(), "%d-%8x-", &process, &machine);
    const bool is_ours = read == 2 && machine == this_machine();
    if (is_ours ? has_ended(process) : is_old(entry.path())) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace sink
