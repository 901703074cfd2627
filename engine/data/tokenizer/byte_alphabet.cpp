#include "engine/data/tokenizer/byte_alphabet.h"

#include <algorithm>

#include "engine/io/utf8.h"

namespace sink {

namespace {

constexpr std::uint32_t kFirstExtra = 0x100;
constexpr std::uint32_t kCharacters = kFirstExtra + 68;

bool stands_for_itself(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The byte that each character represents, or -1 for none.
std::array<int, kCharacters> make_bytes() {
  std::array<int, kCharacters> bytes;
  bytes.fill(-1);
  for (int byte = 0; byte < 256; ++byte) bytes[byte_characters()[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}

}  // namespace

const std::array<std::uint32_t, 256>& byte_characters() {
  static const std::array<std::uint32_t, 256> characters = [] {
    std::array<std::uint32_t, 256> made{};
    std::uint32_t extra = kFirstExtra;
    for (std::uint32_t byte = 0; byte < 256; ++byte) made[byte] = stands_for_itself(byte) ? byte : extra++;
    return made;
  }();
  return characters;
}

std::array<unsigned char, 256> bytes_by_character() {
  std::array<unsigned char, 256> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  std::sort(bytes.begin(), bytes.end(),
            [](unsigned char a, unsigned char b) { return byte_characters()[a] < byte_characters()[b]; });
  return bytes;
}

std::string encode_bytes(std::string_view bytes) {
  std::string characters;
  for (char byte : bytes) append_utf8(characters, byte_characters()[static_cast<unsigned char>(byte)]);
  return characters;
}

std::optional<std::string> decode_bytes(std::string_view characters) {
  static const std::array<int, kCharacters> byte_of = make_bytes();
  std::string bytes;
  for (std::size_t at = 0; at < characters.size();) {
    std::uint32_t code;
    int length = utf8_length(characters, at, &code);
    if (length == 0 || code >= kCharacters || byte_of[code] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_of[code]);
    at += static_cast<std::size_t>(length);
  }
  return bytes;
}

}  // namespace sink
