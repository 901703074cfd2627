// Text for pages that programs write: escaping, JSON inside a page, and templates with {{name}} places.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sink {

// `text` for an element or a quoted attribute: & < > " ' are escaped, control characters and broken UTF-8 replaced.
std::string escape(const std::string& text);

// Rounds every number in `value` to so many digits; what is not finite becomes null.
void round_numbers(nlohmann::json& value, int digits);

// `value` as JSON that may stand inside a <script> element: no <, > or & can end it. Numbers keep so many
// digits; NaN is null.
std::string script_json(nlohmann::json value, int digits = 5);

// `template_text` with every {{name}} replaced, in one pass: replacements are not searched again.
// Throws Error when a name is unknown.
std::string fill(const std::string& template_text, const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace sink
