// A temporary that a killed process of this machine left.
#pragma once

#include <unistd.h>

#include <string>

#include "engine/io/temporary_name.h"

namespace sink {

// A name like that of a temporary of `path`, with a process that cannot exist.
inline std::string orphan_name(const std::string& path) {
  std::string name = temporary_name(path);
  const std::string process = ".tmp-" + std::to_string(::getpid());
  return name.replace(name.find(process), process.size(), ".tmp-4194304");  // above the largest id that Linux gives
}

}  // namespace sink
