// Rotary position embedding on the CUDA device.
#include <doctest/doctest.h>

#include "engine/ops/rotary/rotary.h"
#include "tests/support/device_twin.h"

using namespace sink;

namespace {

// Rotates x of width D by a table for the first `width` numbers and `positions`, into another tensor and in place.
void check_rotary(std::int64_t T, std::int64_t D, std::int64_t width, std::int64_t positions, DType dtype) {
  CAPTURE(T);
  CAPTURE(D);
  CAPTURE(width);
  RotaryTable table = rotary_table(positions, width, DType::F32);
  for (bool inverse : {false, true}) {
    Shape shape{2, 3, T, D};
    Tensors given{random_tensor(shape, dtype, 1), random_tensor(shape, dtype, 2), random_tensor(shape, dtype, 3),
                  table.cos_TE, table.sin_TE};
    check_device_twin("rotary", given, [&](Tensors& t) {
      rotary(t[0], {t[3], t[4]}, inverse, t[1]);
      rotary(t[2], {t[3], t[4]}, inverse, t[2]);
    });
  }
}

}  // namespace

TEST_CASE("rotary on the device: equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t T : {0, 1, 7, 33})
      for (std::int64_t D : {2, 6, 66, 128}) check_rotary(T, D, D, T, dtype);
}

TEST_CASE("rotary on the device: a narrower table, for more positions than there are") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t T : {1, 65})
      for (std::int64_t width : {0, 2, 6, 8}) check_rotary(T, 9, width, T + 5, dtype);
}
