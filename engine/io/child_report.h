// Runs work that may crash, hang or exhaust memory (a library's parser on untrusted input) in a child process that
// returns only bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sink {

struct ChildLimits {
  std::size_t memory_bytes = std::size_t{512} << 20;  // in addition to what the process has mapped
  int cpu_seconds = 20;
  int wall_seconds = 120;
  std::size_t report_bytes = std::size_t{256} << 20;
  bool writes_files = false;
};

struct ChildReport {
  std::string bytes;    // the result of the work
  std::string failure;  // why there is none, as in "it was killed by signal 11 (Segmentation fault)"; else empty
};

// Runs `work` in a forked child and returns its result. The child has no standard streams, writes no files unless
// `writes_files`, ignores the terminal's signals and dies with its parent. Throws Error (Exit::out_of_memory) where the
// process or its file descriptors cannot be created, and where the child fails with less memory than `limits` because
// this process itself is limited: then the failure tells nothing about the input.
ChildReport report_of_child(const std::function<std::string()>& work, const ChildLimits& limits = {});

}  // namespace sink
