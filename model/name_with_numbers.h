// The name of a policy that has constants, as it stands in checkpoints: "PNormExp(3)". At least
// one number.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>

namespace sink {

inline std::string name_with_numbers(const std::string& name, std::initializer_list<double> numbers) {
  std::string text = name;
  char number[32];
  for (double value : numbers) {
    std::snprintf(number, sizeof number, "%.6g", value);
    text.append(text == name ? "(" : ",").append(number);
  }
  return text + ")";
}

}  // namespace sink
