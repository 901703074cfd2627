// environment_number: a whole number that an environment variable sets.
#pragma once

#include <cstdlib>
#include <string>

#include "engine/check.h"
#include "engine/io/parse_number.h"

namespace sink {

// The value of `variable`, or `own` where it is not set. Throws Error (Exit::usage) if it is no number from `least` to
// `most`; `meaning` then says what it is.
inline int environment_number(const char* variable, const std::string& meaning, int own, int least, int most) {
  const char* value = std::getenv(variable);
  if (!value) return own;
  const std::optional<int> number = parse_number<int>(value);
  if (!number || *number < least || *number > most)
    fail("environment",
         std::string(variable) + " is expected to be " + meaning + " from " + std::to_string(least) + " to " +
             std::to_string(most) + ", got \"" + value + "\"",
         Exit::usage);
  return *number;
}

}  // namespace sink
