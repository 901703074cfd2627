// The printable alphabet of byte-level BPE (GPT-2): each of the 256 bytes is mapped to a visible character, so that a
// vocabulary can be stored as JSON text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sink {

// The character of every byte: printable Latin-1 maps to itself, the other 68 bytes to U+0100 and following.
const std::array<std::uint32_t, 256>& byte_characters();

// All bytes in the order of their characters, which is their order in a vocabulary.
std::array<unsigned char, 256> bytes_by_character();

// "\n hi" <-> "(U+010A)(U+0120)hi". decode returns nullopt for a character outside the alphabet.
std::string encode_bytes(std::string_view bytes);
std::optional<std::string> decode_bytes(std::string_view characters);

}  // namespace sink
