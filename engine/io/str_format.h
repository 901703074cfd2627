// str_format: std::snprintf into a std::string.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

namespace sink {

// 64-bit integers are passed as long long (%lld), std::string as text (%s).
template <class... Arguments>
std::string str_format(const char* format, const Arguments&... arguments) {
  auto c_argument = [](const auto& x) {
    using T = std::decay_t<decltype(x)>;
    if constexpr (std::is_same_v<T, std::string>)
      return x.c_str();
    else if constexpr (std::is_same_v<T, std::int64_t>)
      return static_cast<long long>(x);
    else
      return x;
  };
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, format, c_argument(arguments)...)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, c_argument(arguments)...);
  return text;
}

}  // namespace sink
