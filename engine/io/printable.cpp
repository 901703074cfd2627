#include "engine/io/printable.h"

#include <unistd.h>

#include <cstdint>

#include "engine/io/str_format.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

bool is_visible(std::uint32_t code) {
  bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  bool separator = code == 0x2028 || code == 0x2029;
  bool reorders = code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                  (code >= 0x2066 && code <= 0x2069);
  return !control && !separator && !reorders;
}

std::string escaped_where_needed(std::string_view text, bool keep_lines) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    auto byte = static_cast<unsigned char>(text[at]);
    std::uint32_t code = byte;
    int length = utf8_length(text, at, &code);
    if (length > 0 && (is_visible(code) || (keep_lines && (byte == '\n' || byte == '\t')))) {
      shown.append(text, at, static_cast<std::size_t>(length));
    } else if (byte == '\n' || byte == '\t' || byte == '\r') {
      shown += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : "\\r";
    } else if (length > 1) {
      shown += str_format("\\u%04x", code);
    } else {
      length = 1;
      shown += str_format("\\x%02x", byte);
    }
    at += static_cast<std::size_t>(length);
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) { return escaped_where_needed(text, false); }

std::string printable_lines(std::string_view text) { return escaped_where_needed(text, true); }

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kMost = 100;
  return "`" + printable(utf8_prefix(name, kMost)) + (name.size() > kMost ? "...`" : "`");
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void put_text(std::FILE* to, std::string_view text) {
  const int descriptor = ::fileno(to);
  std::string shown;
  if (descriptor >= 0 && ::isatty(descriptor)) text = shown = printable_lines(text);
  std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace sink
