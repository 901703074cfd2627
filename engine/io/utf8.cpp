#include "engine/io/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

namespace sink {
namespace {

// The white space of str.strip in Python.
bool is_white_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

}  // namespace

int utf8_length(std::string_view text, std::size_t at, std::uint32_t* code) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  utf8proc_int32_t decoded = 0;
  const utf8proc_ssize_t length =
      utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &decoded);
  if (length <= 0) return 0;
  if (code) *code = static_cast<std::uint32_t>(decoded);
  return static_cast<int>(length);
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
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, bytes - end < 4 ? end : bytes);  // more are no character
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

void append_utf8(std::string& text, std::uint32_t code) {
  char bytes[4];
  const utf8proc_ssize_t length =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), reinterpret_cast<utf8proc_uint8_t*>(bytes));
  text.append(bytes, static_cast<std::size_t>(length));
}

std::size_t without_white_space_at_end(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    at += static_cast<std::size_t>(std::max(1, utf8_length(text, at, &code)));
    if (!is_white_space(code)) end = at;
  }
  return end;
}

std::string_view without_white_space_around(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::uint32_t code = 0;
    const auto length = static_cast<std::size_t>(std::max(1, utf8_length(text, begin, &code)));
    if (!is_white_space(code)) break;
    begin += length;
  }
  text.remove_prefix(begin);
  return text.substr(0, without_white_space_at_end(text));
}

}  // namespace sink
