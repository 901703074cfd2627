// The name of an attention operation, as the compiler writes that of its type.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sink {
namespace operation_name_detail {

template <class T>
constexpr std::string_view signature() {
  return __PRETTY_FUNCTION__;  // "... [with T = sink::Softmax; ...]" of GCC, "... [T = sink::Softmax]" of clang
}

// The name without the spaces of names and blanks, which ends with a zero.
template <class T>
constexpr auto short_name() {
  constexpr std::string_view whole = signature<T>(), mark = "T = ";
  constexpr std::size_t begin = whole.find(mark) + mark.size(), end = whole.find_first_of(";]", begin);
  std::string_view name = whole.substr(begin, end - begin);
  constexpr std::string_view own = "::Attention";
  if (name.ends_with(own)) name.remove_suffix(own.size());
  std::array<char, end - begin + 1> text{};
  std::size_t size = 0;
  auto in_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (char c : name) {
    if (c == ' ') continue;
    text[size++] = c;
    if (size < 2 || c != ':' || text[size - 2] != ':') continue;
    size -= 2;
    if (size > 0 && (text[size - 1] == '}' || text[size - 1] == ')'))  // {anonymous} of GCC, (anonymous namespace)
      while (size > 0 && text[size - 1] != '{' && text[size - 1] != '(') --size;
    if (size > 0 && (text[size - 1] == '{' || text[size - 1] == '(')) --size;
    while (size > 0 && in_word(text[size - 1])) --size;
  }
  for (std::size_t n = size; n < text.size(); ++n) text[n] = 0;
  return text;
}

template <class T>
inline constexpr auto kShortName = short_name<T>();

}  // namespace operation_name_detail

// The name of an operation in checkpoints: that of its struct, "Softmax". One called Attention within another struct,
// such as an ablation, has that one's name.
template <class Op>
constexpr const char* operation_name() {
  return operation_name_detail::kShortName<Op>.data();
}

}  // namespace sink
