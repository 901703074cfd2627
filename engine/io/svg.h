// Elements of an SVG figure. Coordinates are in pixels; classes refer to the style of the figure.
#pragma once

#include <string>

namespace sink::svg {

// printf's `format` with one double.
std::string formatted(const char* format, double value);
// "12.3"
std::string pixel(double x);
// `attributes` as in class="small"; `text` is escaped.
std::string text_at(double x, double y, const std::string& attributes, const std::string& text);

}  // namespace sink::svg
