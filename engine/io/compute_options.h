// Options shared by programs: precision, device, threads, batch size.
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
  std::int64_t batch = 0;    // 0: see batch_of
  std::int64_t threads = 0;  // 0: one per core
  bool reference = false;
  std::string device = "cpu";

  // Sequences of T tokens per batch. Without --batch 4096 tokens, fewer for a width C over 128: 512 to 4096 tokens
  // whose residual stream has about 2^19 elements, so that activations take little memory compared with the weights.
  std::int64_t batch_of(std::int64_t T, std::int64_t C) const;
  // Applies threads, reference and precision to this process. Throws as check_device.
  void apply() const;
};

// Throws Exit::usage for the reference or F64 on a device, TF32 on the CPU, and int8 with either of the first two, and
// Exit::device where this build or machine has no such device.
void check_device(const std::string& device, const std::string& precision, bool reference);

// "f32 on the CPU with 2 threads"
std::string compute_description(const std::string& device, const std::string& precision, bool reference);

// --precision (one of `precisions`), --reference, --threads, --device; and with --batch.
inline const std::vector<std::string> kPrecisions{"f32", "bf16", "int8", "tf32", "f64"};
void add_machine_options(CLI::App* command, ComputeOptions& options,
                         const std::vector<std::string>& precisions = kPrecisions);
void add_compute_options(CLI::App* command, ComputeOptions& options,
                         const std::vector<std::string>& precisions = kPrecisions);

}  // namespace sink
