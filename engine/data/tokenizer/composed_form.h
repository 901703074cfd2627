// Unicode's composed form NFC: "e" and a combining accent become one character.
#pragma once

#include <string>
#include <string_view>

namespace sink {

// `text` (valid UTF-8) in the form NFC. The result is `text` itself or lies in `room`. The rules are those of
// the `tokenizers` package 0.23: Unicode 9; a character that came later composes with nothing and moves nowhere. Takes
// n log n steps. Safe to call from several threads.
std::string_view composed_form(std::string_view text, std::string& room);

}  // namespace sink
