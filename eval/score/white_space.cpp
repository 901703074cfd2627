#include "eval/score/white_space.h"

#include <algorithm>
#include <cstdint>

#include "engine/io/utf8.h"

namespace sink {
namespace {

// The white space of str.strip in Python.
bool is_white_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

}  // namespace

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
