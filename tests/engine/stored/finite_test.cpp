// The first stored element that is NaN or infinite: against what decode() makes of each element.

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/rng.h"
#include "engine/stored/stored_type.h"
#include "tests/support/weight_bytes.h"

using namespace sink;

namespace {

constexpr StoredType kLast = StoredType::ScaledF8;

std::int64_t first_of(StoredType type, const std::string& bytes, std::int64_t count) {
  return first_not_finite(type, reinterpret_cast<const unsigned char*>(bytes.data()), count);
}

std::int64_t first_decoded(StoredType type, const std::string& bytes, std::int64_t count) {
  std::vector<float> all(static_cast<std::size_t>(count));
  decode(type, reinterpret_cast<const unsigned char*>(bytes.data()), count, all.data());
  for (std::int64_t i = 0; i < count; ++i)
    if (!std::isfinite(all[static_cast<std::size_t>(i)])) return i;
  return -1;
}

}  // namespace

TEST_CASE("finite: of random bytes of every type, the first that decode() makes NaN or infinite") {
  for (int n = 0; n <= static_cast<int>(kLast); ++n) {
    const auto type = static_cast<StoredType>(n);
    const StoredLayout& block = layout_of(type);
    CAPTURE(std::string(block.name));
    int found = 0, passed = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Rng rng(seed, "bytes");
      const int blocks = 1 + static_cast<int>(seed) % 40;
      std::string bytes(static_cast<std::size_t>(blocks * block.bytes), '\0');
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(static_cast<int>(256 * rng.uniform(i)));
      const std::int64_t count = blocks * block.elements, expected = first_decoded(type, bytes, count);
      CHECK(first_of(type, bytes, count) == expected);
      ++(expected >= 0 ? found : passed);
    }
    CHECK(passed > 0);
    const bool whole = StoredType::I64 <= type && type <= StoredType::Bool;
    if (type != StoredType::F64 && type != StoredType::F32 && type < StoredType::Scaled4)
      CHECK((found > 0) == !whole);  // few random exponents are 255
  }
}

TEST_CASE("finite: every scale of MXFP4 with every code") {
  for (int scale = 0; scale < 256; ++scale)
    for (int code = 0; code < 16; ++code) {
      CAPTURE(scale);
      CAPTURE(code);
      std::string blocks(34, '\0');  // the second is the hostile one, at its last element
      blocks[17] = static_cast<char>(scale);
      blocks[33] = static_cast<char>(code << 4);
      // 0.5, 1, 1.5, 2, 3, 4, 6 times 2^(scale - 127); a scale of 255 is NaN.
      constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
      const bool finite = std::ldexp(kMagnitudes[code % 8], scale - 127) <= std::numeric_limits<float>::max();
      CHECK(first_of(StoredType::MXFP4, blocks, 64) == (scale == 255 ? 32 : finite ? -1 : 63));
    }
}

TEST_CASE("finite: NaN, infinities and their neighbours, at every place") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  for (std::size_t size : {1, 7, 4096, 4097, 10000})
    for (std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      std::vector<float> numbers(size, 1.0f);
      for (auto [value, is_found] : {std::pair{inf, true},
                                     {-inf, true},
                                     {nan, true},
                                     {-nan, true},
                                     {largest, false},
                                     {-largest, false},
                                     {least, false},
                                     {0.0f, false}}) {
        numbers[at] = value;
        const auto count = static_cast<std::int64_t>(size);
        CHECK(first_of(StoredType::F32, raw_floats(numbers), count) == (is_found ? static_cast<std::int64_t>(at) : -1));
      }
    }
  // An F64 that rounds to an infinite f32 cannot be computed with.
  const double half_step = std::ldexp(1.0, 128) - std::ldexp(1.0, 103);
  for (auto [value, is_found] : {std::pair{half_step, true},
                                 {std::nextafter(half_step, 0), false},
                                 {-1e300, true},
                                 {static_cast<double>(largest), false},
                                 {double{nan}, true},
                                 {-double{inf}, true}}) {
    CAPTURE(value);
    CHECK(first_of(StoredType::F64, raw_bytes(1.0) + raw_bytes(value), 2) == (is_found ? 1 : -1));
    CHECK(std::isfinite(static_cast<float>(value)) == !is_found);
  }
}
