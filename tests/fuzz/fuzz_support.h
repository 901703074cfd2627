// What the fuzz targets share: bytes as a file, and what a reader may do with them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/check.h"
#include "engine/io/printable.h"

namespace sink {

// Bytes under a path, in memory.
class FuzzFile {
 public:
  explicit FuzzFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~FuzzFile() { ::close(descriptor_); }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// A reader may refuse with an Error of these codes, whose message is not endless; anything else it throws is a finding.
template <class Read>
void may_refuse(std::initializer_list<Exit> codes, Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    bool expected = false;
    for (Exit code : codes) expected = expected || error.code == code;
    std::string message = printable(error.what());
    if (expected && message.size() < 10000) return;
    std::fprintf(stderr, "exit %d: %s\n", static_cast<int>(error.code), message.substr(0, 2000).c_str());
    std::abort();
  }
}

// Must hold whatever the bytes.
inline void must(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline std::string_view view_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace sink
