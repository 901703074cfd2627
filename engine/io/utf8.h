// Decodes and encodes UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sink {

// Bytes of the character at text[at]: 1 to 4, or 0 for invalid UTF-8 (including overlong forms, surrogates and code
// points above U+10FFFF). Sets `code` to the code point.
int utf8_length(std::string_view text, std::size_t at, std::uint32_t* code = nullptr);

// Offset of the first byte that is not part of valid UTF-8; text.size() where all of it is valid.
std::size_t utf8_valid_prefix(std::string_view text);

// The longest prefix of `text` of at most `bytes` bytes that does not end inside a character.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

// `text` without the byte order mark (U+FEFF) that some editors write at the beginning of a file.
std::string_view without_byte_order_mark(std::string_view text);

// `text` without Unicode white space around it, as Python's strip() cuts it, and its length without that at its end.
std::string_view without_white_space_around(std::string_view text);
std::size_t without_white_space_at_end(std::string_view text);

void append_utf8(std::string& text, std::uint32_t code);

}  // namespace sink
