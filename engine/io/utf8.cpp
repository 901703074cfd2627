#include "engine/io/utf8.h"

#include <cstring>

namespace sink {

int utf8_length(std::string_view text, std::size_t at, std::uint32_t* code) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::uint32_t value = byte(at);
  int length = value < 0x80 ? 1 : value < 0xC2 ? 0 : value < 0xE0 ? 2 : value < 0xF0 ? 3 : value < 0xF5 ? 4 : 0;
  if (length == 0 || at + static_cast<std::size_t>(length) > text.size()) return 0;
  if (length > 1) value &= 0x7Fu >> length;
  for (int i = 1; i < length; ++i) {
    std::uint32_t next = byte(at + static_cast<std::size_t>(i));
    if ((next & 0xC0) != 0x80) return 0;
    value = value << 6 | (next & 0x3F);
  }
  if (length == 3 && (value < 0x800 || (value >= 0xD800 && value < 0xE000))) return 0;
  if (length == 4 && (value < 0x10000 || value > 0x10FFFF)) return 0;
  if (code) *code = value;
  return length;
}

std::size_t utf8_valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight;
    while (at + sizeof eight <= text.size()) {  // plain ASCII, eight bytes per step
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if (eight & 0x8080808080808080u) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    int length = utf8_length(text, at);
    if (length == 0) return at;
    at += static_cast<std::size_t>(length);
  }
  return at;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size()) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr std::uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

}  // namespace sink
