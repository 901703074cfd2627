// environment_number: a whole number that an environment variable sets.
#pragma once

#include <charconv>
#include <cstdlib>
#include <string>

#include "engine/check.h"

namespace sink {

// The value of `variable`, or `own` where it is not set. Throws Error (Exit::usage) if it is no number from `least` to
// `most`; `meaning` then says what it is.
inline int environment_number(const char* variable, const std::string& meaning, int own, int least, int most) {
  const char* set = std::getenv(variable);
  if (!set) return own;
  const std::string value = set;
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most)
    fail("environment",
         std::string(variable) + " is expected to be " + meaning + " from " + std::to_string(least) + " to " +
             std::to_string(most) + ", got \"" + value + "\"",
         Exit::usage);
  return number;
}

}  // namespace sink
