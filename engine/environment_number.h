// environment_number: a whole number that an environment variable sets.
#pragma once

#include <charconv>
#include <cstdlib>
#include <string>

#include "engine/check.h"

namespace sink {

// `value`, of the environment variable `name`, as a number. Throws Error (Exit::usage) if it is no number from `least`
// to `most`; `meaning` then says what it is.
inline int environment_number(const std::string& name, const std::string& value, const std::string& meaning, int least,
                              int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least || number > most)
    fail("environment",
         "the environment variable " + name + " is expected to be " + meaning + " from " + std::to_string(least) +
             " to " + std::to_string(most) + ", got \"" + value + "\"",
         Exit::usage);
  return number;
}

// The same of this process's environment; `own` where the variable is not set.
inline int environment_number_or(const char* name, int own, const std::string& meaning, int least, int most) {
  const char* value = std::getenv(name);
  return value ? environment_number(name, value, meaning, least, most) : own;
}

}  // namespace sink
