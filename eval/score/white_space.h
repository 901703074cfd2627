// Texts without the white space around them, as Python's strip() cuts it.
#pragma once

#include <cstddef>
#include <string_view>

namespace sink {

// The length of `text` without Unicode white space at its end.
std::size_t without_white_space_at_end(std::string_view text);
// `text` without Unicode white space at its beginning and end.
std::string_view without_white_space_around(std::string_view text);

}  // namespace sink
