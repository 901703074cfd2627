// What is wrong with a file of weights, found where its path is not known.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/io/printable.h"

namespace sink {

struct WeightFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of a file that may be sound, and has what is not read.
struct WeightsNotRead : WeightFailure {
  using WeightFailure::WeightFailure;
};

// A name out of a file for a message: on one line, not endless.
inline std::string in_quotes(std::string_view name) {
  constexpr std::size_t kMost = 100;
  std::string text = "`";
  text += printable(name.substr(0, kMost));
  return text += name.size() > kMost ? "...`" : "`";
}

}  // namespace sink
