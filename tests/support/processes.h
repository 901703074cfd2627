// What tests of processes share: the children of one, and whether one has ended.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sink {

// The processes whose parent is `parent`.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  return {std::istream_iterator<pid_t>(file), {}};
}

// Its first child, once it has one; 0 after 20 s.
inline pid_t first_child_of(pid_t parent) {
  for (int i = 0; i < 2000; ++i, ::usleep(10'000))
    if (const std::vector<pid_t> children = children_of(parent); !children.empty()) return children.front();
  return 0;
}

// Whether it ends within so many seconds; a zombie has ended.
inline bool ends_within(pid_t process, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; std::chrono::steady_clock::now() < end; ::usleep(10'000)) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name = text.rfind(')');
    if (name == std::string::npos || text[name + 2] == 'Z' || text[name + 2] == 'X') return true;
  }
  return false;
}

}  // namespace sink
