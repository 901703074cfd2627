// Rotary position embedding on the CUDA device.
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "engine/ops/rotary/rotary.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

// Of tokens, some of them the same, below `end`.
Tensor positions_of(std::int64_t B, std::int64_t T, std::int64_t end) {
  Tensor positions_BT = Tensor::empty({B, T}, DType::I32);
  for (std::int64_t n = 0; n < B * T; ++n)
    positions_BT.data<std::int32_t>()[n] = static_cast<std::int32_t>(n * 5 % end);
  return positions_BT;
}

// Rotates x of width D by a table for the first `width` numbers and `positions`, into another tensor and in place.
void check_rotary(std::int64_t T, std::int64_t D, std::int64_t width, std::int64_t positions, DType dtype) {
  CAPTURE(T);
  CAPTURE(D);
  CAPTURE(width);
  RotaryTable table = rotary_table(positions, width, DType::F32);
  for (bool inverse : {false, true}) {
    Shape shape{2, 3, T, D};
    Tensors given{random_tensor(shape, dtype, 1),
                  random_tensor(shape, dtype, 2),
                  random_tensor(shape, dtype, 3),
                  table.cos_TE,
                  table.sin_TE,
                  positions_of(2, T, positions)};
    check_device_backend("rotary", given, [&](Tensors& t) {
      rotary(t[0], {t[3], t[4]}, inverse, t[1]);
      rotary(t[2], {t[3], t[4], t[5]}, inverse, t[2]);
    });
  }
}

// The numbers of D, of which `width` are rotated, lie `offset` numbers into their tensors.
void check_split_rotary(std::int64_t B, std::int64_t H, std::int64_t G, std::int64_t T, std::int64_t D,
                        std::int64_t width, std::int64_t offset, DType dtype) {
  CAPTURE(H);
  CAPTURE(T);
  CAPTURE(D);
  CAPTURE(width);
  CAPTURE(offset);
  RotaryTable table = rotary_table(T + 2, width, DType::F32);
  std::int64_t row = (H + 2 * G) * D;
  auto random = [&](std::int64_t size, std::uint64_t seed) { return random_tensor({size + offset}, dtype, seed); };
  Tensors given{random(B * T * row, 1),
                random(B * H * T * D, 2),
                random(B * G * T * D, 3),
                random(B * G * T * D, 4),
                random(B * T * row, 5),
                table.cos_TE,
                table.sin_TE,
                positions_of(B, T, T + 2)};
  check_device_backend("split_rotary", given, [&](Tensors& t) {
    Tensor qkv = t[0].slice(offset, {B, T, row}), dqkv = t[4].slice(offset, {B, T, row});
    Tensor q = t[1].slice(offset, {B, H, T, D});
    Tensor k = t[2].slice(offset, {B, G, T, D}), v = t[3].slice(offset, {B, G, T, D});
    split_rotary(qkv, {t[5], t[6], t[7]}, q, k, v);
    split_rotary_backward(q, k, v, {t[5], t[6], t[7]}, dqkv);
  });
}

}  // namespace

TEST_CASE("split_rotary on the device: equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t T : {1, 7})
      for (auto [H, G] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {4, 2}}) {
        for (std::int64_t width : {0, 2, 6, 8}) check_split_rotary(2, H, G, T, 9, width, 0, dtype);
        for (std::int64_t width : {0, 16, 32, 40})
          for (std::int64_t offset : {0, 1}) check_split_rotary(2, H, G, T, 40, width, offset, dtype);
        check_split_rotary(2, H, G, T, 128, 128, 0, dtype);
      }
  check_split_rotary(1, 12, 12, 2, 64, 48, 0, DType::F32);  // more items than a block has threads
  check_split_rotary(2, 2, 1, 0, 8, 8, 0, DType::F32);
}

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
