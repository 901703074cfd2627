// The source lines of instructions, for messages.
#pragma once

#include <string>

namespace sink::emulated {

// "engine/ops/add/add_cuda.cu:12", or the function or address if the program has no debug information.
std::string source_line(const void* instruction);

// The demangled name of the function that begins there, with its template arguments.
std::string function_name(const void* instruction);

// The path of a source file relative to the repository's root.
std::string path_in_repository(const std::string& path);

}  // namespace sink::emulated
