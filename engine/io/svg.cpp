#include "engine/io/svg.h"

#include <cmath>
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

std::string line(const char* style, double x1, double x2, double y1, double y2) {
  return std::string("<line class=\"") + style + "\" x1=\"" + pixel(x1) + "\" x2=\"" + pixel(x2) + "\" y1=\"" +
         pixel(y1) + "\" y2=\"" + pixel(y2) + "\"/>";
}

std::string circle(const char* style, double x, double y, double radius) {
  return std::string("<circle class=\"") + style + "\" cx=\"" + pixel(x) + "\" cy=\"" + pixel(y) + "\" r=\"" +
         formatted("%g", radius) + "\"/>";
}

std::string diamond(const char* style, double x, double y) {
  return std::string("<path class=\"") + style + "\" d=\"M" + pixel(x - 5) + " " + pixel(y) + "L" + pixel(x) + " " +
         pixel(y - 5) + "L" + pixel(x + 5) + " " + pixel(y) + "L" + pixel(x) + " " + pixel(y + 5) + "Z\"/>";
}

std::vector<double> ticks(double low, double high) {
  const double range = high - low;
  double step = std::pow(10, std::floor(std::log10(range)));
  while (range / step < 3) step /= range / step < 1.5 ? 5 : 2;
  while (range / step > 6) step *= 2;
  std::vector<double> at;
  for (double n = std::ceil(low / step); n * step <= high && at.size() < 20; ++n) at.push_back(n * step);
  return at;
}

}  // namespace sink::svg
