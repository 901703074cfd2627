// A silent error of the emulated device: one bit flips in one matrix product, for tests of what notices it.
#pragma once

#include <cstdint>
#include <optional>

namespace sink::emulated {

struct BitFlip {
  enum class In { a, b, sum };  // a factor, as F32, in every sum that reads it; or a sum before it is rounded
  std::int64_t product = 0;     // counted from 0 since flip_bit()
  In in = In::sum;
  std::int64_t row = 0, column = 0, depth = 0;  // of c_mn and of k, modulo their sizes; a has no column, b no row
  int bit = 31;                                 // of an F32: 0 is the last of the mantissa, 31 the sign
};

// Plans the flip; without one, products are right again. Counts the products from 0. No kernel may run.
void flip_bit(std::optional<BitFlip> flip);
// Products since flip_bit().
std::int64_t counted_products();

}  // namespace sink::emulated
