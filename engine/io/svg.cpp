#include "engine/io/svg.h"

#include <cstdio>

#include "engine/io/html.h"

namespace sink::svg {

std::string formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string pixel(double x) { return formatted("%.1f", x); }

std::string text_at(double x, double y, const std::string& attributes, const std::string& text) {
  return "<text" + (attributes.empty() ? "" : " " + attributes) + " x=\"" + pixel(x) + "\" y=\"" + pixel(y) + "\">" +
         escape(text) + "</text>";
}

}  // namespace sink::svg
