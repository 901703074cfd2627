// Spaces as U+2581, as character-level tokenizers write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

inline constexpr std::string_view kMetaspace = "\u2581";

// Append `text` with U+2581 for its spaces, and the inverse.
void append_metaspaced(std::string_view text, std::string& out);
void append_spaced(std::string_view text, std::string& out);

// The normalizer: NFC, the leading U+2581, U+2581 for spaces. The result is `text` itself or a view of one of the two
// buffers.
std::string_view normal_form(const BpeModel& model, std::string_view text, std::string& composed, std::string& spaced);

// The byte of a token "<0x0A>" (the package takes lower case, too).
std::optional<unsigned char> byte_of_token(std::string_view token);

}  // namespace sink
