// How a subcommand of eval_<ablation> computes: precision, threads, sequences at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace sink {

struct ComputeOptions {
  std::string precision = "f32";
  std::int64_t batch = 0;    // 0: about 4096 tokens
  std::int64_t threads = 0;  // 0: as many as there are cores
  bool reference = false;

  // Sequences of T tokens at a time.
  std::int64_t batch_of(std::int64_t T) const;
  // For this process: threads, and the reference where it is asked for.
  void apply() const;
};

// --batch, --precision (one of `precisions`), --reference, --threads
void add_compute_options(CLI::App* command, ComputeOptions& options, const std::vector<std::string>& precisions);

}  // namespace sink
