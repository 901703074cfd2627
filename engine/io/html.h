// Text of HTML pages: escaping, JSON inside a page, and templates with {{name}} placeholders.
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

}  // namespace sink
