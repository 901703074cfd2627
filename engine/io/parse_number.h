// parse_number: text that is a number and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace sink {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end ? std::optional<T>(value) : std::nullopt;
}

}  // namespace sink
