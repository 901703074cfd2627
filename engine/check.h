// Errors that a user can act on: what was expected, what came, and the exit code a program leaves with.
#pragma once

#include <stdexcept>
#include <string>

namespace sink {

// Exit codes of every Sinklab program; scripts may rely on them. A run stopped by signal n leaves with 128 + n.
enum class Exit : int {
  ok = 0,
  failure = 1,             // a bug of ours
  usage = 2,               // wrong flag or value
  bad_input = 3,           // data, text or configuration that cannot be used
  corrupt_checkpoint = 4,  // truncated, damaged, foreign or of another policy
  diverged = 5,            // the loss became NaN or infinite too often
  out_of_memory = 6,
  device = 7,  // CUDA or NCCL
  io = 8,      // unwritable folder, full disk
};

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Exit code = Exit::failure) : std::runtime_error(message), code(code) {}
  Exit code;
};

// There is no memory for a tensor. A program that knows what would need less says so (train/memory_advice.h).
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(message, Exit::out_of_memory) {}
};

// Throws Error("[tag] message"). `tag` names the operation, as in "[rms_norm] ...".
[[noreturn]] void fail(const char* tag, const std::string& message, Exit code = Exit::failure);

}  // namespace sink

// The message is only built when the condition is false.
#define SINK_CHECK(condition, tag, ...) \
  do {                                  \
    if (!(condition)) [[unlikely]]      \
      ::sink::fail(tag, __VA_ARGS__);   \
  } while (0)
