// The frame of every main(): errors become one line on stderr and an exit code.
#pragma once

#include <functional>

namespace sink {

// Runs `body` and returns its exit code, or after an exception prints `<program>: error: <message>` as one line and
// returns the code of the Error, 6 when memory ran out, 8 when stdout could not be written, else 1.
int run_program(const char* program, const std::function<int()>& body);

}  // namespace sink
