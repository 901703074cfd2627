#include "engine/io/child_report.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "engine/check.h"
#include "engine/io/file.h"

namespace sink {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kBoundMemory = false;  // the sanitizer's shadow takes terabytes of addresses
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kBoundMemory = false;
#else
constexpr bool kBoundMemory = true;
#endif
#else
constexpr bool kBoundMemory = true;
#endif

void lower_limit(decltype(RLIMIT_AS) resource, rlim_t most) {
  rlimit limit;
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, most);
  limit.rlim_max = std::min(limit.rlim_max, most);
  ::setrlimit(resource, &limit);
}

// Mapped bytes, as RLIMIT_AS counts them; 0: unknown.
std::size_t bytes_held() {
  unsigned long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void confine(const ChildLimits& limits, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ}) ::signal(number, SIG_IGN);
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) ::signal(number, SIG_DFL);
  int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = 0; stream <= 2; ++stream) {
    if (nothing < 0 || ::dup2(nothing, stream) < 0) ::close(stream);
  }
  if (std::size_t held = bytes_held(); kBoundMemory && held > 0) lower_limit(RLIMIT_AS, held + limits.memory_bytes);
  lower_limit(RLIMIT_CPU, static_cast<rlim_t>(limits.cpu_seconds));
  lower_limit(RLIMIT_CORE, 0);
  if (!limits.writes_files) lower_limit(RLIMIT_FSIZE, 0);
}

// The length is written first, so that a truncated report is detected.
[[noreturn]] void do_work(const std::function<std::string()>& work, int to) {
  try {
    std::string report = work();
    std::uint64_t size = report.size();
    bool written = write_all(to, &size, sizeof size) == 0 && write_all(to, report.data(), report.size()) == 0;
    ::_exit(written ? 0 : 1);
  } catch (const std::bad_alloc&) { ::_exit(static_cast<int>(Exit::out_of_memory)); } catch (...) {
    ::_exit(1);
  }
}

// Reads until the other end closes. False after `seconds`, or with more than `most` bytes.
bool read_to_end(int from, std::size_t most, int seconds, std::string& bytes) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::string piece(1 << 16, '\0');
  while (bytes.size() <= most) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd ready{from, POLLIN, 0};
    int polled = left > 0 ? ::poll(&ready, 1, static_cast<int>(left)) : 0;
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return false;
    ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    bytes.append(piece, 0, static_cast<std::size_t>(got));
  }
  return false;
}

struct ChildEnd {
  std::string words;
  bool may_lack_memory = false;  // libraries crash, too, when an allocation fails
};

// Waits for the child.
ChildEnd end_of(pid_t child, const ChildLimits& limits) {
  int status = 0;
  rusage used{};
  while (::wait4(child, &status, 0, &used) < 0) {
    if (errno != EINTR) return {"its end is unknown"};  // where the parent ignores SIGCHLD
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(Exit::out_of_memory))
    return {"it ran out of memory", true};
  if (!WIFSIGNALED(status)) return {"it left without a report", true};
  int number = WTERMSIG(status);
  // The system kills at the limit; another SIGKILL is of a user, or of the system where memory is short.
  bool at_limit = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 >= limits.cpu_seconds;
  if (number == SIGXCPU || (number == SIGKILL && at_limit))
    return {"it took more than " + std::to_string(limits.cpu_seconds) + " s"};
  return {"it was killed by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")", true};
}

// The child opens a copy of its pipe end, /dev/null and what a library needs to read one file.
void require_descriptors(const int (&ends)[2]) {
  constexpr int kOpened = 4;
  int opened[kOpened], error = 0;
  for (int& descriptor : opened) {
    descriptor = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) error = errno;
  }
  for (int descriptor : opened)
    if (descriptor >= 0) ::close(descriptor);
  if (error == 0) return;
  ::close(ends[0]);
  ::close(ends[1]);
  fail_io("start", "a process for a file", error);
}

// Whether the limit on this process leaves the child less memory than `limits`; `left` becomes how much.
bool is_short_of_memory(const ChildLimits& limits, std::size_t& left) {
  rlimit own;
  const std::size_t held = bytes_held();
  if (!kBoundMemory || held == 0 || ::getrlimit(RLIMIT_AS, &own) != 0 || own.rlim_cur == RLIM_INFINITY) return false;
  left = own.rlim_cur > held ? static_cast<std::size_t>(own.rlim_cur) - held : 0;
  return left < limits.memory_bytes;
}

}  // namespace

ChildReport report_of_child(const std::function<std::string()>& work, const ChildLimits& limits) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_io("make", "a pipe", errno);
  require_descriptors(ends);
  std::size_t memory_left = 0;
  const bool short_of_memory = is_short_of_memory(limits, memory_left);
  pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) {
    int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    fail("child", std::string("cannot start a process to read a file in: ") + std::strerror(error),
         Exit::out_of_memory);
  }
  if (child == 0) {
    int report_end = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 3);  // may have got the number of a closed standard stream
    confine(limits, parent);
    do_work(work, report_end);
  }
  ::close(ends[1]);
  std::string bytes;
  bool ended = false;
  try {
    ended = read_to_end(ends[0], limits.report_bytes, limits.wall_seconds, bytes);
  } catch (const std::bad_alloc&) {
    ::kill(child, SIGKILL);
    ::close(ends[0]);
    end_of(child, limits);
    throw;
  }
  if (!ended) ::kill(child, SIGKILL);
  ::close(ends[0]);
  const ChildEnd end = end_of(child, limits);
  std::uint64_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  if (ended && bytes.size() >= sizeof size && size == bytes.size() - sizeof size)
    return {bytes.substr(sizeof size), ""};
  if (short_of_memory && end.may_lack_memory)
    throw Error("a process for a file could not do its work in the " + std::to_string(memory_left >> 20) +
                    " MiB that the limit on memory leaves (" + end.words + "); raise it (ulimit -v)",
                Exit::out_of_memory);
  return {"", end.words};
}

}  // namespace sink
