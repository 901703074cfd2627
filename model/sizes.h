// Sizes are data, mathematics is type: everything here is a run-time number.
#pragma once

#include <cstdint>

#include "engine/dtype.h"

namespace sink {

struct Sizes {
  std::int64_t layers = 0;
  std::int64_t heads = 0;         // H
  std::int64_t width = 0;         // C
  std::int64_t feed_forward = 0;  // F
  std::int64_t context = 0;       // longest T
  std::int64_t vocabulary = 0;    // V

  std::int64_t head_width() const { return width / heads; }  // D
};

}  // namespace sink
