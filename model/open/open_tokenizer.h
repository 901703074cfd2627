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

}  // namespace sink
