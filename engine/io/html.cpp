// Independent of the locale, so the bytes of a page never depend on where it is made.
#include "engine/io/html.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/check.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

using nlohmann::json;

// Invalid UTF-8 becomes U+FFFD.
std::string valid_utf8(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string with_escapes(std::string_view text, std::initializer_list<std::pair<char, const char*>> escapes) {
  std::string out;
  for (const char c : text) {
    auto found = std::find_if(escapes.begin(), escapes.end(), [c](const auto& escape) { return escape.first == c; });
    found == escapes.end() ? out += c : out += found->second;
  }
  return out;
}

void round_numbers(json& value, int digits_kept) {
  if (value.is_number_float()) {
    const double rounded = std::strtod(str_format("%.*g", digits_kept, value.get<double>()).c_str(), nullptr);
    if (!std::isfinite(rounded))
      value = nullptr;
    else if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15)
      value = static_cast<std::int64_t>(rounded);  // 0 instead of 0.0, which saves bytes in large arrays
    else
      value = rounded;
  } else if (value.is_structured()) {
    for (auto& item : value) round_numbers(item, digits_kept);
  }
}

}  // namespace

std::string escape(const std::string& text) {
  std::string visible = valid_utf8(text);
  for (char& c : visible)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = ' ';
  return with_escapes(visible, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string script_json(json value, int digits) {
  round_numbers(value, digits);
  return with_escapes(value.dump(-1, ' ', true, json::error_handler_t::replace),
                      {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
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

namespace svg {

std::string pixel(double x) { return str_format("%.1f", x); }

std::string text_at(double x, double y, const std::string& attributes, const std::string& text) {
  return "<text" + (attributes.empty() ? "" : " " + attributes) + " x=\"" + pixel(x) + "\" y=\"" + pixel(y) + "\">" +
         escape(text) + "</text>";
}

std::string figure(double width, double height, const std::string& style, const std::string& title,
                   const std::string& elements) {
  return str_format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" role=\"img\">", width,
                    height, width) +
         "<style>" + style + "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<title>" + title +
         "</title>\n" + elements + "</svg>\n";
}

}  // namespace svg
}  // namespace sink
