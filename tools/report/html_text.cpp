// Formatting; independent of the locale, so the bytes of a report never depend on where it is made.
#include "tools/report/html_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace sink::report {
namespace {

std::string formatted(const char* format, int decimals, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, decimals, value);
  return text;
}

}  // namespace

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
