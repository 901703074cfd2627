// The token at the beginning of every text that a model reads.
#pragma once

#include <cstdint>
#include <string>

#include "eval/sink/trained_on.h"

namespace sink {

// The fixed token of the run, or else the begin token of the tokenizer; -1: none. `command` reads texts that begin with
// it. Throws Error (Exit::usage) if the run had its fixed token at another position.
std::int64_t first_token(const Checkpoint& checkpoint, const TrainedOn& run, const std::string& command);

}  // namespace sink
