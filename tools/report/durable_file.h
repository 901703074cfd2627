// Reads a file whole, and writes one so that a reader sees either the old file or the new one, never half of it.
#pragma once

#include <string>

namespace sink::report {

// The bytes of `path`. Throws Error (Exit::bad_input) when it cannot be read.
std::string read_file(const std::string& path);

// Writes a temporary beside `path`, fsyncs it, renames it over `path` and fsyncs the folder. Makes missing folders.
// Throws Error (Exit::io) and leaves no temporary behind.
void write_file(const std::string& path, const std::string& bytes);

}  // namespace sink::report
