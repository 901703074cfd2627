// The frame of every main(): what a process settles before its work, and how it leaves: errors become one line on
// stderr and an exit code, and output that was not written whole is an error.
#pragma once

#include <functional>

namespace sink {

// Runs `body` and returns its exit code, or after an exception prints `<program>: error: <message>` as one line and
// returns the code of the Error, 6 when memory ran out, 8 when the disk failed, else 1. Around it:
// - Descriptors 0 to 2 that the caller closed are taken, so that no file of ours gets their number and no message its
//   bytes; reading or writing them fails as if they were still closed.
// - SIGPIPE and SIGXFSZ are ignored: a reader that left and a file over its size limit are errors of write(). Those of
//   stderr never stop a program.
// - stdout that could not be written to its end makes exit code 0 an 8 (a full disk, a closed descriptor), with a
//   message; 141 without one where its reader left, as SIGPIPE would have it.
int run_program(const char* program, const std::function<int()>& body);

}  // namespace sink
