#include "engine/io/program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/processor.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

// Texts of files in a message may have any length. Its end says what to do.
std::string cut(const std::string& line) {
  constexpr std::size_t kFirst = 6000, kLast = 1500;
  if (line.size() <= kFirst + kLast) return line;
  return std::string(utf8_prefix(line, kFirst)) + " [...] " +
         line.substr(utf8_prefix(line, line.size() - kLast).size());
}

int report(const char* program, const std::string& message, Exit code) {
  std::fprintf(stderr, "%s: error: %s\n", program, cut(printable(message)).c_str());
  return static_cast<int>(code);
}

// The message of a call of std::filesystem that no reader or writer has put into words.
int report_path(const char* program, const std::filesystem::filesystem_error& error) {
  const int why = error.code().value();
  const bool bad_path = why == ELOOP || why == ENAMETOOLONG || why == EACCES;
  const std::string path = error.path1().string();
  return report(program,
                "cannot use " + (path.empty() ? "a file or folder" : path) + ": " + std::strerror(why) +
                    (bad_path ? "; give another path" : ""),
                is_shortage(why) ? Exit::out_of_memory
                : bad_path       ? Exit::bad_input
                                 : Exit::io);
}

// open(2) returns the lowest free number. The mode is the opposite of what is needed, so that writing to a closed
// stdout fails.
void reserve_standard_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    int opened = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened < 0) opened = ::open("/", O_PATH | O_DIRECTORY);  // a jail without /dev
    if (opened >= 0 && opened != descriptor) ::close(opened);
  }
}

constexpr int kUnknown = -1;

// The errno of an earlier failure, of which stdio keeps only a flag.
int why_stdout_failed() {
  int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return EBADF;
  pollfd reader = {STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) ? EPIPE : kUnknown;
}

// 0, or the errno of the failed write.
int stdout_error() {
  bool failed_before = std::ferror(stdout);
  if (std::fflush(stdout) != 0) return errno;
  if (failed_before) return why_stdout_failed();
  int copy = ::dup(STDOUT_FILENO);  // network file systems report write errors at close()
  return copy >= 0 && ::close(copy) != 0 ? errno : 0;
}

int finish_output(const char* program, int code) {
  int error = stdout_error();
  if (error == 0 || code != 0) return code;
  if (error == EPIPE) return 128 + SIGPIPE;
  return report(program,
                std::string("the output (stdout) is cut short: ") +
                    (error == kUnknown ? "a write failed; is the disk full?" : std::strerror(error)),
                Exit::io);
}

int run_body(const char* program, const std::function<int()>& body) {
  try {
    return body();
  } catch (const OutOfMemory& error) {
    return report(program, std::string(error.what()) + ". A smaller batch, context or model needs less", error.code);
  } catch (const Error& error) { return report(program, error.what(), error.code); } catch (const std::bad_alloc&) {
    return report(program, "out of memory; a smaller --batch or --context needs less", Exit::out_of_memory);
  } catch (const std::filesystem::filesystem_error& error) {
    return report_path(program, error);
  } catch (const std::exception& error) { return report(program, error.what(), Exit::failure); }
}

}  // namespace

int run_program(const char* program, const std::function<int()>& body) {
  link_processor_check();
  reserve_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return finish_output(program, run_body(program, body));
}

}  // namespace sink
