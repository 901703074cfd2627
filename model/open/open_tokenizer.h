// The tokenizer that comes with a model of another program.
#pragma once

#include <optional>

#include "engine/data/tokenizer/tokenizer.h"
#include "model/open/open_model.h"

namespace sink {

// tokenizer.json in the folder, or vocab.json with merges.txt; what a GGUF file has in its metadata; tokenizer.bin, or
// tok<V>.bin, beside a .bin of llama2.c. None where there is no such. Throws Error (Exit::bad_input) where it cannot be
// used.
std::optional<Tokenizer> tokenizer_of(const OpenModel& model);

// The token that the model's files call the first of a text, whether or not their tokenizer puts it there:
// `bos_token_id` of config.json, `tokenizer.ggml.bos_token_id`. None where they say nothing of the kind, or what is no
// token of the model.
std::optional<std::int32_t> declared_begin(const OpenModel& model);

}  // namespace sink
