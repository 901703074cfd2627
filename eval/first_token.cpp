#include "eval/first_token.h"

#include "engine/check.h"

namespace sink {

std::int64_t first_token(const Checkpoint& checkpoint, const TrainedOn& run, const std::string& command,
                         std::optional<bool> bos) {
  if (bos == false) return -1;
  if (run.fixed_token < 0) {
    const std::int64_t own = integer_or(checkpoint, "begin_token", -1);
    if (own >= 0 || !bos) return own;
    const std::int64_t prefix = integer_or(checkpoint, "prefix_token", -1);
    if (prefix < 0)
      throw Error(checkpoint.path + " names no begin token: leave out --bos, or write the token in the text",
                  Exit::usage);
    return prefix;
  }
  if (run.fixed_position != 1 || run.fixed_to > 1)
    throw Error(checkpoint.path + " was trained with a fixed token at " +
                    (run.fixed_to > 1 ? "a drawn position" : "position " + std::to_string(run.fixed_position)) +
                    " of every sequence; " + command + " takes models that have it first, or have none",
                Exit::usage);
  return run.fixed_token;
}

}  // namespace sink
