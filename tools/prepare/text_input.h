// The bytes of a text file piece by piece, unpacked where it is gzip or zstd: told by its first bytes, not by its name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sink {

class TextInput {
 public:
  // Throws Error (Exit::bad_input) where it cannot be opened or is a folder.
  explicit TextInput(const std::string& path);
  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  // Up to `bytes` bytes, at least one; 0 at the end. Needs no more memory however much the file unpacks to. Throws
  // Error (Exit::bad_input) where it is damaged, cut off or cannot be read.
  std::size_t read(char* to, std::size_t bytes);

 private:
  class Packed;
  class Gzip;
  class Zstd;
  std::unique_ptr<Packed> packed_;
};

}  // namespace sink
