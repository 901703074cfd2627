// tools/one_file/sink.cpp, and what its page adds to it, in the namespace one_file.
#pragma once

// The standard headers that it includes, so that the namespace holds nothing else.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

namespace one_file {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // of main()
#include "tools/one_file/page/sink_page.cpp"
#pragma GCC diagnostic pop
}  // namespace one_file
