// How a program computes: precision, device, threads, sequences at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sink {

struct ComputeOptions {
  std::string precision = "f32";
  std::int64_t batch = 0;    // 0: as batch_of says
  std::int64_t threads = 0;  // 0: as many as there are cores
  bool reference = false;
  std::string device = "cpu";

  // Sequences of T tokens at a time. Without --batch as many as have 4096 tokens, fewer of a model of a width C over
  // 128: 512 to 4096 tokens whose residual stream has about 2^19 numbers, so that what is between two layers takes
  // little memory beside the weights.
  std::int64_t batch_of(std::int64_t T, std::int64_t C) const;
  // For this process: threads, and the reference where it is asked for. Throws Exit::usage and Exit::device as
  // check_device does.
  void apply() const;
};

// Throws Exit::usage for what no device but the CPU has, the reference and F64, for what the CPU does not have, TF32,
// and Exit::device where this build or machine has no such device.
void check_device(const std::string& device, const std::string& precision, bool reference);

// --precision (one of `precisions`), --reference, --threads, --device; and with --batch.
void add_machine_options(CLI::App* command, ComputeOptions& options, const std::vector<std::string>& precisions);
void add_compute_options(CLI::App* command, ComputeOptions& options, const std::vector<std::string>& precisions);

}  // namespace sink
