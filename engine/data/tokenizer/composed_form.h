// Unicode's composed form NFC: "e" and a combining accent become one character.
#pragma once

#include <string>
#include <string_view>

namespace sink {

// Returns `text` (valid UTF-8) in the form NFC: either `text` itself or a view of `room`, which is overwritten. As in
// the `tokenizers` package 0.23 the rules are those of Unicode 9; later characters neither compose nor move. Takes
// O(n log n) time. Thread-safe.
std::string_view composed_form(std::string_view text, std::string& room);

}  // namespace sink
