// Where in the sources an instruction of this program stands, for messages.
#pragma once

#include <string>

namespace sink::emulated {

// "engine/ops/add/add_cuda.cu:12", or the function or address where the program was built without line numbers.
std::string source_line(const void* instruction);

// A path of a source file, as a compiler was given it, from the repository's root on.
std::string path_in_repository(const std::string& path);

}  // namespace sink::emulated
