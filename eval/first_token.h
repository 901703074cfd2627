// The token at the beginning of every text that a model reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "eval/sink/trained_on.h"

namespace sink {

// The fixed token of the run, or else the begin token of the tokenizer; -1: none. `command` reads texts that begin with
// it. bos: false for none; true also for the begin token in the files of a model whose tokenizer does not add it.
// Throws Error (Exit::usage) if the run had its fixed token at another position, and if `bos` is true and there is
// none.
std::int64_t first_token(const Checkpoint& checkpoint, const TrainedOn& run, const std::string& command,
                         std::optional<bool> bos = std::nullopt);

}  // namespace sink
