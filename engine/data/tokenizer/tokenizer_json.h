// Reads and writes the HuggingFace file format tokenizer.json for byte-level BPE.
#pragma once

#include <string>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// `json` is the content of the file and `path` what messages call it. Throws Error (Exit::bad_input) where it is no
// such file, or asks for something other than byte-level BPE with GPT-2's pattern.
BpeModel parse_tokenizer_json(const std::string& json, const std::string& path);

std::string to_tokenizer_json(const BpeModel& model);

}  // namespace sink
