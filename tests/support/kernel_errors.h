// The messages of kernels that the emulated device ends, for tests of its checks.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/check.h"

namespace sink {

// The message of a launch's Error, which has Exit::device; empty if there is none.
template <class Launch>
std::string error_of(Launch&& launch) {
  try {
    launch();
  } catch (const Error& error) {
    CHECK(error.code == Exit::device);
    return error.what();
  }
  return "";
}

inline void check_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) CHECK_MESSAGE(text.find(part) != std::string::npos, part, " is not in: ", text);
}

}  // namespace sink
