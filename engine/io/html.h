// Text of HTML pages: escaping, JSON inside a page, templates with {{name}} placeholders, and SVG figures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sink {

// `text` for an element or a quoted attribute: & < > " ' are escaped, control characters and invalid UTF-8 replaced.
std::string escape(const std::string& text);

// `value` as JSON for a <script> element: <, > and & are escaped, and every number is rounded to `digits` significant
// digits; NaN and infinities become null.
std::string script_json(nlohmann::json value, int digits = 5);

// `template_text` with every {{name}} replaced, in one pass: replacements are not searched again.
// Throws Error when a name is unknown.
std::string fill(const std::string& template_text, const std::vector<std::pair<std::string, std::string>>& values);

// Elements of an SVG figure. Coordinates are in pixels; classes refer to the style of the figure.
namespace svg {

// "12.3"
std::string pixel(double x);
// `attributes` as in class="small"; `text` is escaped.
std::string text_at(double x, double y, const std::string& attributes, const std::string& text);
// The whole figure, on white.
std::string figure(double width, double height, const std::string& style, const std::string& title,
                   const std::string& elements);

}  // namespace svg
}  // namespace sink
