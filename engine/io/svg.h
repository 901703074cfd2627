// Elements of an SVG figure. Coordinates are in pixels; classes refer to the style of the figure.
#pragma once

#include <string>
#include <vector>

namespace sink::svg {

// printf's `format` with one double.
std::string formatted(const char* format, double value);
// "12.3"
std::string pixel(double x);
// `attributes` as in class="small"; `text` is escaped.
std::string text_at(double x, double y, const std::string& attributes, const std::string& text);
std::string line(const char* style, double x1, double x2, double y1, double y2);
std::string circle(const char* style, double x, double y, double radius);
// A square with a corner at the top.
std::string diamond(const char* style, double x, double y);

// Three to six round values from low to high.
std::vector<double> ticks(double low, double high);

}  // namespace sink::svg
