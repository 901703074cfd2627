// Errors that a user can act on: what was expected, what was found, and the exit code of the program.
#pragma once

#include <stdexcept>
#include <string>

namespace sink {

// Exit codes of every Sinklab program; scripts may rely on them. A run stopped by signal n exits with 128 + n.
enum class Exit : int {
  ok = 0,
  failure = 1,             // a bug in Sinklab
  usage = 2,               // wrong flag or value
  bad_input = 3,           // data, text or configuration that cannot be used
  corrupt_checkpoint = 4,  // truncated, damaged, foreign or of another policy
  diverged = 5,            // the loss became NaN or infinite too often
  out_of_memory = 6,
  device = 7,  // CUDA or NCCL; a processor that computes other bits the second time, or that lacks what the build uses
  io = 8,      // unwritable folder, full disk
};

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Exit code = Exit::failure) : std::runtime_error(message), code(code) {}
  Exit code;
};

// There is no memory for a tensor. train/memory_advice.h adds advice on settings that need less.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(message, Exit::out_of_memory) {}
};

// Throws Error(message); the message of a bug begins with the operation, as in "[rms_norm] ...".
[[noreturn]] void fail(const char* tag, const std::string& message, Exit code = Exit::failure);

}  // namespace sink

// The message is only built when the condition is false.
#define SINK_CHECK(condition, tag, ...) \
  do {                                  \
    if (!(condition)) [[unlikely]]      \
      ::sink::fail(tag, __VA_ARGS__);   \
  } while (0)
