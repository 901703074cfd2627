// Checks that a call is refused with an Error that tells the user what was wrong.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "engine/check.h"

namespace sink {

// f() throws Error(code) whose message has every one of `words`, as in "f32 (2, 3)".
template <class F>
void check_refused(F&& f, std::initializer_list<std::string> words, Exit code = Exit::failure) {
  std::string message;
  try {
    f();
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.code == code);
  }
  CHECK_MESSAGE(!message.empty(), "expected an Error, none was thrown");
  for (const std::string& word : words)
    CHECK_MESSAGE(message.find(word) != std::string::npos, "expected '", word, "' in '", message, "'");
}

}  // namespace sink
