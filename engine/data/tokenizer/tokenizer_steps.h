// The steps of a tokenizer.json around merging: normalizer, pre-tokenizer, decoder and special tokens.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// Throws Error (Exit::bad_input); `path` names the file.
[[noreturn]] void reject_tokenizer(const std::string& path, const std::string& why);
std::string brief_json(const nlohmann::json& value);  // for a message
// Whether `object` has a value other than null, false, 0 or "" under `key`.
bool uses_option(const nlohmann::json& object, const char* key);

// Reads "normalizer", "pre_tokenizer" and "decoder" of `file`, which say whether tokens are bytes or characters; the
// second one "post_processor", where `model` has its vocabulary. Throw as above for steps that are not supported, by
// their name.
void read_text_steps(const nlohmann::json& file, BpeModel& model, const std::string& path);
void read_special_steps(const nlohmann::json& file, BpeModel& model, const std::string& path);

}  // namespace sink
