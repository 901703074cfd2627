// Runs a command to its end and checks how it ended.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/subprocess.h"

namespace sink {

struct Outcome {
  int code;
  std::string out, err;
};
inline Outcome outcome_of(const Subprocess& program) {
  const int code = program.wait();
  return {code, program.out(), program.err()};
}
inline Outcome outcome_of(const TemporaryFolder& folder, const std::string& line) {
  return outcome_of(Subprocess(folder, words_of(line)));
}

// What a command prints that must succeed.
inline std::string output_of(const TemporaryFolder& folder, const std::string& line) {
  const Outcome said = outcome_of(folder, line);
  CHECK_MESSAGE(said.code == 0, line, ": ", said.err);
  return said.out;
}

// The command must exit with `code` and one line that has the clue.
inline void check_error(const TemporaryFolder& folder, const std::string& line, int code, const std::string& clue) {
  const Outcome said = outcome_of(folder, line);
  CHECK_MESSAGE(said.code == code, line, ": ", said.err);
  CHECK_MESSAGE(said.err.find(clue) != std::string::npos, line, ": ", said.err);
  CHECK_MESSAGE(std::count(said.err.begin(), said.err.end(), '\n') == 1, said.err);
}

}  // namespace sink
