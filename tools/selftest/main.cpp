// selftest: checks that the CUDA device executes each instruction as the kernels of the engine expect.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "engine/check.h"
#include "engine/comm/host_communicator.h"
#include "engine/device.h"
#include "engine/io/command_line.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/recording.h"
#include "engine/tensor.h"
#include "tools/selftest/finding.h"

namespace sink {
namespace {

using selftest::Check;
using selftest::Finding;

// Prints a line and returns whether the check passed. An error of the device is a failure.
bool passes(const Check& check) {
  Finding found;
  try {
    found = check.run();
  } catch (const Error& error) { found.wrong = error.what(); }
  std::printf("%-5s  %-50s %6lld values, worst difference %.3g\n", found.wrong.empty() ? "ok" : "WRONG",
              check.what.c_str(), static_cast<long long>(found.count), found.worst);
  if (!found.wrong.empty()) std::printf("       first: %s\n", printable(found.wrong).c_str());
  std::fflush(stdout);
  return found.wrong.empty();
}

// A kernel, and what programs use where the device has it.
int probe() {
  check_usable(Device::cuda);
  Tensor x = Tensor::full({1000}, 3, DType::F32, Device::cuda);
  SINK_CHECK(x.item(999) == 3, "selftest", "a kernel that fills a tensor with 3 stored " + std::to_string(x.item(999)),
             Exit::device);
  std::printf("%-8s %s\n", "kernels", description_of(Device::cuda).c_str());
  auto print = [](const char* what, const std::string& refusal) {
    std::printf("%-8s %s\n", what, refusal.empty() ? "yes" : ("no: " + printable(refusal)).c_str());
  };
  print("graphs", recording_refusal(Device::cuda));
  print("NCCL", nccl_refusal());
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Checks the CUDA device: the result of each instruction that the kernels use, in every lane, against NVIDIA's\n"
      "CuTe and plain arithmetic, and matrix products. Prints one line per check: its name, the number of compared\n"
      "values and the largest difference.",
      "selftest");
  std::string only;
  app.add_option("--only", only, "run only checks whose name contains this");
  bool only_probe = false;
  app.add_flag("--probe", only_probe, "run one kernel, print whether graphs and NCCL work, and exit");
  app.footer("Exit code 0: all checks passed; 7: a check failed, or there is no device.");
  if (!parse_command_line(app, argc, argv)) return 0;
  if (only_probe) return probe();
  check_usable(Device::cuda);
  std::printf("selftest on %s\n", description_of(Device::cuda).c_str());
  auto start = std::chrono::steady_clock::now();
  int checks = 0, wrong = 0;
  for (const auto& checks_of_kind :
       {selftest::instruction_checks(), selftest::matrix_checks(), selftest::gemm_checks()})
    for (const Check& check : checks_of_kind)
      if (check.what.find(only) != std::string::npos) ++checks, wrong += !passes(check);
  SINK_CHECK(checks > 0, "selftest", "no check's name contains '" + only + "'; run without --only to list them",
             Exit::usage);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%d of %d checks passed, %.1f s\n", checks - wrong, checks, seconds.count());
  return static_cast<int>(wrong ? Exit::device : Exit::ok);
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("selftest", [&] { return sink::run(argc, argv); });
}
