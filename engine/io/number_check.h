// What the number of a command-line option may be, for CLI11's check(): its own ranges let NaN through, and its whole
// numbers stop at the largest of their type without a word.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sink {

// "" where a text is such a number, else "expected a number from 0 to 100, got `nan`".
using NumberCheck = std::function<std::string(const std::string& text)>;

inline constexpr std::int64_t kLargestCount = 1'000'000'000;

NumberCheck real_number(double low, double high);
NumberCheck whole_number(std::int64_t low, std::int64_t high = kLargestCount);
// Any of 64 bits.
NumberCheck seed_number();

}  // namespace sink
