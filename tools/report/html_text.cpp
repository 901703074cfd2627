// Escaping and formatting; independent of the locale, so the bytes of a report never depend on where it is made.
#include "tools/report/html_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "engine/check.h"

namespace sink::report {
namespace {

using nlohmann::json;

// Broken UTF-8 becomes U+FFFD; what nlohmann-json does when told so.
std::string valid_utf8(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

void round_numbers(json& value) {
  if (value.is_number_float()) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.5g", value.get<double>());
    const double rounded = std::strtod(digits, nullptr);
    if (!std::isfinite(rounded))
      value = nullptr;
    else if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15)
      value = static_cast<std::int64_t>(rounded);  // 0 instead of 0.0: a map has thousands of them
    else
      value = rounded;
  } else if (value.is_structured()) {
    for (auto& item : value) round_numbers(item);
  }
}

std::string formatted(const char* format, int decimals, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, decimals, value);
  return text;
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        out += (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f ? ' ' : c;
      }
    }
  }
  return out;
}

std::string script_json(json value) {
  round_numbers(value);
  std::string out;
  for (const char c : value.dump(-1, ' ', true, json::error_handler_t::replace)) {
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string fill(const std::string& template_text, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t open = template_text.find("{{", at);
    if (open == std::string::npos) return out + template_text.substr(at);
    const std::size_t close = template_text.find("}}", open);
    SINK_CHECK(close != std::string::npos, "fill", "a {{ without }}");
    const std::string name = template_text.substr(open + 2, close - open - 2);
    const std::string* replacement = nullptr;
    for (const auto& [key, value] : values)
      if (key == name) replacement = &value;
    SINK_CHECK(replacement != nullptr, "fill", "no value for {{" + name + "}}");
    out += template_text.substr(at, open - at) + *replacement;
    at = close + 2;
  }
}

std::string number(double value, int decimals) {
  return std::isfinite(value) ? formatted("%.*f", decimals, value) : "\u2013";
}

std::string percent(double share) {
  const double value = 100 * share;
  return number(value, std::abs(value) >= 9.95 ? 0 : 1) + "\u00a0%";
}

std::string significant(double value) {
  if (!std::isfinite(value) || value == 0) return number(value, 0);
  value = std::strtod(formatted("%.*g", 3, value).c_str(), nullptr);  // 0.9999 is 1.00
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return number(value, std::min(6, std::max(0, 2 - exponent)));
}

std::string plain(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.2g", value);
  std::string text = significant(std::strtod(digits, nullptr));
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value), out;
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) out += "\u202f";
    out += digits[i];
  }
  return out;
}

}  // namespace sink::report
