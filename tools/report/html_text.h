// Text for the page: escaping, numbers as people read them, and templates with {{name}} places.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sink::report {

// `text` for an element or a quoted attribute: & < > " ' are escaped, control characters and broken UTF-8 replaced.
std::string escape(const std::string& text);

// `value` as JSON that may stand inside a <script> element: no <, > or & can end it. Numbers keep 5 digits; NaN is
// null.
std::string script_json(nlohmann::json value);

// `template_text` with every {{name}} replaced, in one pass: replacements are not searched again.
// Throws Error when a name is unknown.
std::string fill(const std::string& template_text, const std::vector<std::pair<std::string, std::string>>& values);

std::string number(double value, int decimals);  // fixed point; an en dash for NaN
std::string percent(double share);               // 0.6213 -> "62 %", 0.0312 -> "3.1 %"
std::string significant(double value);           // three digits, never with an exponent: 0.0312, 4.57, 128
std::string plain(double value);                 // two digits for a sentence, no trailing zeros: 0.031, 1.9, 0.4
std::string grouped(std::int64_t value);         // 1234567 -> "1 234 567" with narrow spaces

}  // namespace sink::report
