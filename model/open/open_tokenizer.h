// The tokenizer that comes with a model of another program.
#pragma once

#include <optional>

#include "engine/data/tokenizer/tokenizer.h"
#include "model/open/open_model.h"

namespace sink {

// tokenizer.json in the folder, or vocab.json with merges.txt; what a GGUF file has in its metadata; tokenizer.bin, or
// tok<V>.bin next to a .bin of llama2.c. Returns nothing where there is none. Throws Error:
// Exit::corrupt_checkpoint where it cannot be used, Exit::bad_input where it cannot be opened.
std::optional<Tokenizer> tokenizer_of(const OpenModel& model);

// The token that lm-evaluation-harness puts before what has no context, whether or not the tokenizer begins texts with
// it: `bos_token` of tokenizer_config.json, or its `eos_token` where that is null, as with Qwen; where there is
// neither, `bos_token_id` of config.json; of a GGUF file `tokenizer.ggml.bos_token_id`. None where the files say
// nothing of the kind, or what is no token of the model. Throws Error (Exit::corrupt_checkpoint) where
// tokenizer_config.json is damaged.
std::optional<std::int32_t> prefix_token(const OpenModel& model, const Tokenizer& tokenizer);

}  // namespace sink
