// Frames of figures, tables of choices and headings, as HTML: what every figure of the page is made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/report/run_reader.h"

namespace sink::report {

// A heading with a note and, at its end, controls.
std::string bar(const std::string& title, const std::string& note, const std::string& controls);
// Radio buttons side by side: {value, text}, the first one chosen. A control is called "<what it changes>-<group>".
std::string segments(const std::string& name, const std::string& legend,
                     const std::vector<std::pair<std::string, std::string>>& choices);

// A figure of `group` holds a canvas that the scripts draw, named by its data- attributes, and a table of its values.
// `spoken` is for who does not see it.
std::string framed(const std::string& group, const std::string& attributes, const std::string& title,
                   const std::string& caption, const std::string& spoken);

// Buttons of each head's `name`, as of `table` [L][H], which may be empty where it is not known yet.
std::string tiles(const char* which, const std::string& name, const Table& table);
constexpr const char* kValueShare = "Share of |a||v| on token 1";  // the name of those tiles

// Tiles to choose a head by, and its map.
std::string framed_heads(const std::string& attributes, const std::string& title, const std::string& grids, bool maps);

}  // namespace sink::report
