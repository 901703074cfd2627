// The TOML that runs are described in: lines `key = value`. Checked before CLI11's parser, whose memory grows with the
// square of a name's dots, gets to see it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/check.h"

namespace sink {

// Keys and values in their order, without quotes and comments; a byte order mark in front is skipped. Throws Error
// (`code`), whose message `where` opens: for more than 1 MiB, a line of more than 16 KiB, a section, a key with a dot,
// or what CLI11 refuses.
std::vector<std::pair<std::string, std::string>> read_bounded_toml(std::string_view text, const std::string& where,
                                                                   Exit code);

}  // namespace sink
