// The data and length of the run that made a checkpoint, its validation text, and the token at the beginning of every
// text that its model reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/data/data_config.h"
#include "engine/data/data_source.h"
#include "engine/io/checkpoint.h"
#include "model/sizes.h"

namespace sink {

struct TrainedOn : DataConfig {
  std::int64_t context = 0;  // T
  std::int64_t prefix = 0;   // tokens that every token sees
  std::int64_t steps = 0;    // 0: unknown
};

// From config_toml of the checkpoint, with defaults for missing keys; other keys are ignored. A fixed token of
// probability 0 is none. Context and prefix are those of `sizes`: the model may differ from the command line of its
// run. Throws Error (Exit::corrupt_checkpoint).
TrainedOn trained_on(const Checkpoint& checkpoint, const Sizes& sizes);

// A checkpoint made by hand may lack attributes that only training writes.
std::string attribute_or(const Checkpoint& checkpoint, const std::string& name, const std::string& otherwise);
std::int64_t integer_or(const Checkpoint& checkpoint, const std::string& name, std::int64_t otherwise);

// The data that the checkpoint was trained on, or that of the folder `other` (empty: none), which may hold other text
// of the same tokenizer. Throws Error: Exit::usage if neither is known, Exit::bad_input if the tokens are not those of
// the model or the text is not that of the run.
std::unique_ptr<DataSource> validation_text(const Checkpoint& checkpoint, TrainedOn run, const std::string& other,
                                            const Sizes& sizes);

// The fixed token of the run, or else the begin token of the tokenizer; -1: none. `command` reads texts that begin with
// it. bos: false for none; true also for the begin token in the files of a model whose tokenizer does not add it.
// Throws Error (Exit::usage) if the run had its fixed token at another position, and if `bos` is true and there is
// none.
std::int64_t first_token(const Checkpoint& checkpoint, const TrainedOn& run, const std::string& command,
                         std::optional<bool> bos = std::nullopt);

}  // namespace sink
