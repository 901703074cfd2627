// The 16-bit float.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/dtype.h"
#include "engine/rng.h"

using namespace sink;

namespace {

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
float rounded(float x) { return bf16(x); }

}  // namespace

TEST_CASE("bf16: rounds to nearest, ties to even") {
  // Next to 1 the values are 2^-7 apart.
  CHECK(rounded(1) == 1);
  CHECK(rounded(1 + 0x1p-8f) == 1);                       // a tie; 1 is even
  CHECK(rounded(1 + 0x1p-8f + 0x1p-20f) == 1 + 0x1p-7f);  // just above
  CHECK(rounded(1 + 3 * 0x1p-8f) == 1 + 0x1p-6f);         // a tie between 1 + 2^-7 (odd) and 1 + 2^-6
  CHECK(rounded(1 + 3 * 0x1p-8f - 0x1p-20f) == 1 + 0x1p-7f);
  CHECK(rounded(-1 - 3 * 0x1p-8f) == -1 - 0x1p-6f);
  CHECK(bf16(1.0f).bits == 0x3f80);
  CHECK(bf16(-2.0f).bits == 0xc000);
}

TEST_CASE("bf16: every one of its numbers survives the way to float and back") {
  std::uint32_t changed = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    float x = from_bits(bits << 16);
    if (!std::isnan(x)) changed += bf16(x).bits != bits;
  }
  CHECK(changed == 0);
}

TEST_CASE("bf16: no neighbour is nearer") {
  Rng rng(0, "bf16");
  for (std::uint64_t i = 0; i < 20000; ++i) {
    float x = from_bits(rng.words(i)[0]);
    if (!std::isfinite(x) || std::abs(x) > 3e38f) continue;
    std::uint16_t bits = bf16(x).bits;
    double off = std::abs(static_cast<double>(rounded(x)) - x);
    double above = from_bits(static_cast<std::uint32_t>(bits + 1) << 16);
    CHECK(off <= std::abs(above - x));
    if (bits & 0x7fff) CHECK(off <= std::abs(double{from_bits(static_cast<std::uint32_t>(bits - 1) << 16)} - x));
  }
}

TEST_CASE("bf16: infinities, overflow, NaN and zeros") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(rounded(kInfinity) == kInfinity);
  CHECK(rounded(-kInfinity) == -kInfinity);
  CHECK(rounded(std::numeric_limits<float>::max()) == kInfinity);  // above the last bf16 by more than half a step
  // A NaN whose payload is only in the lost bits, one whose rounding would carry over, and negative ones.
  for (std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0x7fc00000u, 0xff800001u, 0xffffffffu})
    CHECK(std::isnan(rounded(from_bits(bits))));
  CHECK(bf16(0.0f).bits == 0);
  CHECK(bf16(-0.0f).bits == 0x8000);
}

TEST_CASE("bf16: store() rounds like the constructor") {
  for (float x : {1.00390625f, -3.1415927f, 1e-40f, 3.4e38f}) {
    bf16 from_float, from_double;
    store(from_float, x);
    store(from_double, static_cast<double>(x));
    CHECK(from_float.bits == bf16(x).bits);
    CHECK(from_double.bits == bf16(x).bits);
  }
}

TEST_CASE("bf16: a double is rounded once, not to float first") {
  auto stored = [](double x) {
    bf16 y;
    store(y, x);
    return static_cast<double>(y);
  };
  for (double sign : {1.0, -1.0}) {
    // Ties between neighbours, but for a last part that no float holds.
    CHECK(stored(sign * (1 + 0x1p-8 + 0x1p-40)) == sign * (1 + 0x1p-7));
    CHECK(stored(sign * (1 + 0x1p-8)) == sign);
    CHECK(stored(sign * (1 + 3 * 0x1p-8 - 0x1p-40)) == sign * (1 + 0x1p-7));
    CHECK(stored(sign * (1 + 3 * 0x1p-8)) == sign * (1 + 0x1p-6));
    CHECK(stored(sign * 1e300) == sign * std::numeric_limits<double>::infinity());
    CHECK(stored(sign * 1e-300) == 0);
    // Half of the smallest bf16 goes to 0 (even), anything above it up.
    CHECK(stored(sign * 0x1p-134) == 0);
    CHECK(stored(sign * (0x1p-134 + 0x1p-170)) == sign * 0x1p-133);
  }
  CHECK(std::isnan(stored(std::numeric_limits<double>::quiet_NaN())));
  CHECK(stored(-std::numeric_limits<double>::infinity()) == -std::numeric_limits<double>::infinity());
}
