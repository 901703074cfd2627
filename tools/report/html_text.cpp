#include "tools/report/html_text.h"

#include <cmath>
#include <cstdlib>

#include "engine/io/str_format.h"
#include "engine/io/text_table.h"

namespace sink::report {

std::string number(double value, int decimals) { return std::isfinite(value) ? fixed_text(value, decimals) : "\u2013"; }

std::string percent(double share) {
  const double value = 100 * share;
  return number(value, std::abs(value) >= 9.95 ? 0 : 1) + "\u00a0%";
}

std::string significant(double value) {
  if (!std::isfinite(value) || value == 0) return number(value, 0);
  value = std::strtod(str_format("%.3g", value).c_str(), nullptr);  // 0.9999 is 1.00
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return number(value, std::min(6, std::max(0, 2 - exponent)));
}

std::string plain(double value) {
  std::string text = significant(std::strtod(str_format("%.2g", value).c_str(), nullptr));
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), "\u202f");
  return digits;
}

}  // namespace sink::report
