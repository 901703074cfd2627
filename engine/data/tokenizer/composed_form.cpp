#include "engine/data/tokenizer/composed_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "engine/check.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

// Combining characters that came after Unicode 9 and that utf8proc 2.8 (Unicode 15) therefore moves or composes.
constexpr struct {
  std::uint32_t first, last;
} kLater[] = {{0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
              {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},
              {0xA82C, 0xA82C},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50},
              {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x1183A},
              {0x11930, 0x11930}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34},
              {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97},
              {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE},
              {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};

constexpr std::uint32_t kFirstActive = 0x300;  // all code points below are NFC among themselves
constexpr int kLongestDecomposition = 8;

using Codes = std::vector<utf8proc_int32_t>;

// Characters that may change, move or compose with earlier ones. The text can be cut between two others.
using Active = std::vector<bool>;

int decompose(utf8proc_int32_t code, std::array<utf8proc_int32_t, kLongestDecomposition>& into) {
  int boundary = UTF8PROC_BOUNDCLASS_START;
  utf8proc_ssize_t count =
      utf8proc_decompose_char(code, into.data(), kLongestDecomposition, UTF8PROC_DECOMPOSE, &boundary);
  SINK_CHECK(count >= 1 && count <= kLongestDecomposition, "composed_form",
             "utf8proc does not decompose the character " + std::to_string(code));
  return static_cast<int>(count);
}

Active make_active() {
  Active active(0x110000);
  std::array<utf8proc_int32_t, kLongestDecomposition> parts;
  for (utf8proc_int32_t code = kFirstActive; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    auto at = static_cast<std::size_t>(code);
    if (utf8proc_get_property(code)->combining_class != 0) active[at] = true;
    int count = decompose(code, parts);
    if (count == 1 && parts[0] == code) continue;
    for (int i = 1; i < count; ++i) active[static_cast<std::size_t>(parts[static_cast<std::size_t>(i)])] = true;
    utf8proc_ssize_t left = utf8proc_normalize_utf32(
        parts.data(), count, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    if (left != 1 || parts[0] != code) active[at] = true;
  }
  for (const auto& later : kLater)
    for (std::uint32_t code = later.first; code <= later.last; ++code) active[code] = false;
  return active;
}

// Appends the composed form of `stretch`: one character that is not active and the active ones after it.
void append_composed(std::string_view stretch, Codes& codes, std::string& out) {
  codes.clear();
  std::array<utf8proc_int32_t, kLongestDecomposition> parts;
  for (std::size_t at = 0; at < stretch.size();) {
    std::uint32_t code = 0;
    at += static_cast<std::size_t>(utf8_length(stretch, at, &code));
    int count = decompose(static_cast<utf8proc_int32_t>(code), parts);
    codes.insert(codes.end(), parts.begin(), parts.begin() + count);
  }
  auto order = [](utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; };
  for (auto run = codes.begin(); run != codes.end();) {
    auto end = run + 1;
    if (order(*run) != 0) {
      while (end != codes.end() && order(*end) != 0) ++end;
      std::stable_sort(run, end, [&](auto a, auto b) { return order(a) < order(b); });
    }
    run = end;
  }
  utf8proc_ssize_t count = utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()),
                                                    static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  SINK_CHECK(count >= 0, "composed_form", utf8proc_errmsg(count));
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(out, static_cast<std::uint32_t>(codes[static_cast<std::size_t>(i)]));
}

}  // namespace

std::string_view composed_form(std::string_view text, std::string& room) {
  static const Active active = make_active();
  Codes codes;
  std::size_t copied = 0;  // bytes of the text that have been copied to `room`
  std::size_t cut = 0;     // begin of the last character that later active ones may compose with
  room.clear();
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0xCC) {  // below U+0300, two bytes at most
      cut = at;
      at += static_cast<unsigned char>(text[at]) < 0x80 ? 1 : 2;
      continue;
    }
    std::uint32_t code = 0;
    auto length = static_cast<std::size_t>(utf8_length(text, at, &code));
    if (!active[code]) {
      bool later = utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class != 0;
      cut = later ? at + length : at;
      at += length;
      continue;
    }
    std::size_t end = at + length;
    while (end < text.size() && (length = static_cast<std::size_t>(utf8_length(text, end, &code)), active[code]))
      end += length;
    room.append(text.substr(copied, cut - copied));
    append_composed(text.substr(cut, end - cut), codes, room);
    copied = cut = at = end;
  }
  if (copied == 0) return text;
  room.append(text.substr(copied));
  return room;
}

}  // namespace sink
