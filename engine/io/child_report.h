// Work that may crash, hang or swallow memory (a library's parser on bytes nobody vouches for), done in a process of
// its own that hands back bytes and nothing else.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sink {

struct ChildLimits {
  std::size_t memory_bytes = std::size_t{512} << 20;  // beyond what the process holds already
  int cpu_seconds = 20;
  int wall_seconds = 120;  // the disk's time included
  std::size_t report_bytes = std::size_t{256} << 20;
  bool writes_files = false;
};

struct ChildReport {
  std::string bytes;    // what the work returned
  std::string failure;  // why there are none, as in "it was killed by signal 11 (Segmentation fault)"; else empty
};

// Runs `work` in a forked child and returns what it reported. The child has no standard streams, writes no file unless
// it is said to, ignores the terminal's signals and dies with its parent. Throws Error (Exit::out_of_memory) where no
// process can be made, where file descriptors are short, and where the child fails with less memory than `limits` would
// give it, because this process is limited itself: that says nothing about what was read.
ChildReport report_of_child(const std::function<std::string()>& work, const ChildLimits& limits = {});

}  // namespace sink
