// Reads the bytes of a text file, decompressing gzip and zstd, which it recognizes by the first bytes, not by the name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sink {

class TextInput {
 public:
  // Throws Error (Exit::bad_input) if the file cannot be opened or is a folder.
  explicit TextInput(const std::string& path);
  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  // Reads 1 to `bytes` bytes; returns 0 at the end. Memory is bounded, however much the file expands. Throws Error
  // (Exit::bad_input) if it is damaged, truncated or unreadable.
  std::size_t read(char* to, std::size_t bytes);

 private:
  class Plain;
  class Gzip;
  class Zstd;
  std::unique_ptr<Plain> file_;
};

}  // namespace sink
