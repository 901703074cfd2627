// The frame of every main(): errors become one line on stderr and an exit code, and incomplete output is an error.
#pragma once

#include <functional>

namespace sink {

// Runs `body` and returns its exit code, or after an exception prints `<program>: error: <message>` as one line and
// returns the code of the Error, 6 when memory ran out, 8 when the disk failed, else 1. Around it:
// - Descriptors 0 to 2 that the caller closed are reserved, so that no file gets their number; reading or writing them
//   fails as if they were closed.
// - SIGPIPE and SIGXFSZ are ignored: a closed pipe and a file over its size limit are errors of write(). Errors of
//   stderr do not stop a program.
// - If stdout could not be written completely (a full disk, a closed descriptor), exit code 0 becomes 8 with a message;
//   141 without a message where its reader has closed the pipe, as with SIGPIPE.
int run_program(const char* program, const std::function<int()>& body);

}  // namespace sink
