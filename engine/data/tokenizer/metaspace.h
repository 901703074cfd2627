// Spaces as the visible character U+2581, as tokenizers of characters write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

inline constexpr std::string_view kMetaspace = "\u2581";

// Appends `text` with U+2581 for its spaces, and the other way round.
void append_metaspaced(std::string_view text, std::string& out);
void append_spaced(std::string_view text, std::string& out);

// What a tokenizer makes of text before it looks for added tokens in it: NFC, the leading U+2581, U+2581 for spaces.
// The result is `text` itself or lies in one of the two rooms.
std::string_view normal_form(const BpeModel& model, std::string_view text, std::string& composed, std::string& spaced);

// The byte of a token "<0x0A>" (the package takes lower case, too).
std::optional<unsigned char> byte_of_token(std::string_view token);

}  // namespace sink
