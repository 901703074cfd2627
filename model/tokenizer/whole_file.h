// Files read and written as a whole: reading with clear errors, all-or-nothing writing, SHA-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sink {

// The bytes of a file. Throws Error (Exit::bad_input) where it is missing, a folder or unreadable; `tag` names the
// reader.
std::string read_file(const char* tag, const std::string& path);

struct NamedBytes {
  std::string path;
  std::string_view bytes;
};

// Writes every file to a temporary beside it, flushes it to the disk, and only when all of them are there renames them,
// in the given order. On failure no temporary is left, no file has changed, and Error (Exit::io) names the file and the
// cause.
void write_files(const char* tag, const std::vector<NamedBytes>& files);

// 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace sink
