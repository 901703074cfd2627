// selftest: whether the CUDA device does what the engine's kernels count on, instruction by instruction.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "engine/check.h"
#include "engine/device.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "tools/selftest/finding.h"

namespace sink {
namespace {

using selftest::Check;
using selftest::Finding;

// Prints a line; whether it was right. What the device refuses is wrong, too.
bool passes(const Check& check) {
  Finding found;
  try {
    found = check.run();
  } catch (const Error& error) { found.wrong = error.what(); }
  std::printf("%-5s  %-50s %6lld numbers, worst difference %.3g\n", found.wrong.empty() ? "ok" : "WRONG",
              check.what.c_str(), static_cast<long long>(found.numbers), found.worst);
  if (!found.wrong.empty()) std::printf("       first: %s\n", printable(found.wrong).c_str());
  std::fflush(stdout);
  return found.wrong.empty();
}

int run(int argc, char** argv) {
  CLI::App app(
      "Checks the CUDA device: what each instruction that the kernels use gives every lane, against NVIDIA's CuTe and\n"
      "plain arithmetic, and matrix products. A line each: what, how many numbers, the largest difference.");
  std::string only;
  app.add_option("--only", only, "checks that have this in their name");
  app.footer("Exit code 0: all is right; 7: something is wrong, or there is no device.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; see --help", Exit::usage);
  }
  check_usable(Device::cuda);
  std::printf("selftest on %s\n", description_of(Device::cuda).c_str());
  auto start = std::chrono::steady_clock::now();
  int checks = 0, wrong = 0;
  for (const auto& part : {selftest::instruction_checks(), selftest::matrix_checks(), selftest::gemm_checks()})
    for (const Check& check : part)
      if (check.what.find(only) != std::string::npos) ++checks, wrong += !passes(check);
  SINK_CHECK(checks > 0, "selftest", "no check has '" + only + "' in its name", Exit::usage);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d of %d checks are right, %.1f s\n", checks - wrong, checks, seconds.count());
  return static_cast<int>(wrong ? Exit::device : Exit::ok);
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("selftest", [&] { return sink::run(argc, argv); });
}
