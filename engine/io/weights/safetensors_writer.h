// Writes a safetensors file from front to back without holding its data in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/io/file.h"
#include "engine/shape.h"
#include "engine/stored/stored_type.h"

namespace sink {

class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    StoredType type;
    Shape shape;
  };

  // `entries` in the order of the calls of write(); the header is padded with blanks so that the data begins at a
  // multiple of eight bytes. Throws Error: Exit::failure for names that are not UTF-8, empty, duplicate or
  // `__metadata__`, and for block types, which the format lacks; Exit::io as OutputFile.
  SafetensorsWriter(const std::string& path, const std::vector<Entry>& entries,
                    const std::map<std::string, std::string>& metadata = {});

  // The data of all tensors in order, in pieces of any size.
  void write(const void* data, std::size_t bytes);
  // Flushes and replaces an older file. Throws Error (Exit::failure) where data is missing.
  void commit();

 private:
  struct Head {
    std::string text;     // with its length before it
    std::uint64_t bytes;  // of the data
  };
  static Head head_of(const std::vector<Entry>& entries, const std::map<std::string, std::string>& metadata);
  SafetensorsWriter(const std::string& path, const Head& head);

  OutputFile file_;
  std::uint64_t left_;  // bytes of data that are still to come
};

}  // namespace sink
