// The printable alphabet of byte-level BPE (GPT-2): each of the 256 bytes has a visible character of its own, so that a
// vocabulary can be kept as JSON text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sink {

// Character of every byte: printable Latin-1 stands for itself, the other 68 bytes follow from U+0100 on.
const std::array<std::uint32_t, 256>& byte_characters();

// All bytes in the order of their characters: the order in which they enter a vocabulary.
std::array<unsigned char, 256> bytes_by_character();

// "\n hi" <-> "(U+010A)(U+0120)hi". decode gives nothing where a character stands for no byte.
std::string encode_bytes(std::string_view bytes);
std::optional<std::string> decode_bytes(std::string_view characters);

}  // namespace sink
