#include "train/program.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include "engine/check.h"
#include "engine/printable.h"

namespace sink {
namespace {

int report(const char* program, const std::string& message, Exit code) {
  std::fprintf(stderr, "%s: error: %s\n", program, printable(message).c_str());
  return static_cast<int>(code);
}

}  // namespace

int run_program(const char* program, const std::function<int()>& body) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file over its size limit is then an error of write(), as a full disk is
  try {
    int code = body();
    if (std::fflush(stdout) != 0) return report(program, "cannot write the output (stdout)", Exit::io);
    return code;
  } catch (const Error& error) { return report(program, error.what(), error.code); } catch (const std::bad_alloc&) {
    return report(program, "out of memory; a smaller --batch or --context needs less", Exit::out_of_memory);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(program, error.what(), Exit::io);
  } catch (const std::exception& error) { return report(program, error.what(), Exit::failure); }
}

}  // namespace sink
