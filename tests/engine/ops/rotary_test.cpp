// Rotary position embedding.
#include "engine/ops/rotary/rotary.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "autograd/ops/add_node.h"
#include "autograd/ops/heads_node.h"
#include "autograd/ops/rotary_node.h"
#include "engine/ops/heads/heads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

namespace {

Tensor rotated(const Tensor& x, bool inverse = false) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  DType table = accumulate_type(x.dtype());
  rotary(x, rotary_table(x.dim(2), x.dim(3), table), inverse, y);
  return y;
}

// Positions below `end`, some of them repeated.
Tensor positions_of(std::int64_t B, std::int64_t T, std::int64_t end) {
  Tensor positions_BT = Tensor::empty({B, T}, DType::I32);
  for (std::int64_t n = 0; n < B * T; ++n)
    positions_BT.data<std::int32_t>()[n] = static_cast<std::int32_t>(n * 5 % end);
  return positions_BT;
}

// Rotates the first `width` of D elements, into another tensor and in place.
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
    auto run = [&](Tensors& t) {
      rotary(t[0], {t[3], t[4]}, inverse, t[1]);
      rotary(t[2], {t[3], t[4], t[5]}, inverse, t[2]);
    };
    check_backends("rotary", given, run, 1e-6, 0x1p-8);
  }
}

// The first `width` of D elements are rotated; every tensor starts at element `offset` of its memory.
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
  check_backends("split_rotary", given, [&](Tensors& t) {
    Tensor qkv = t[0].slice(offset, {B, T, row}), dqkv = t[4].slice(offset, {B, T, row});
    Tensor q = t[1].slice(offset, {B, H, T, D});
    Tensor k = t[2].slice(offset, {B, G, T, D}), v = t[3].slice(offset, {B, G, T, D});
    split_rotary(qkv, {t[5], t[6], t[7]}, q, k, v);
    split_rotary_backward(q, k, v, {t[5], t[6], t[7]}, dqkv);
  });
}

}  // namespace

TEST_CASE("rotary: positions 0 and 1 by hand") {
  // D = 4: angles at position 1 are 1 (pair 0, 2) and 10000^(-2/4) = 0.01 (pair 1, 3).
  // (1, 0) -> (cos 1, sin 1), (0, 1) -> (-sin 0.01, cos 0.01); position 0 stays.
  Tensor x = Tensor::from<double>({1, 1, 2, 4}, {1, 2, 3, 4, 1, 0, 0, 1});
  Tensor expected =
      Tensor::from<double>({1, 1, 2, 4}, {1, 2, 3, 4, 0.540302306, -0.009999833, 0.841470985, 0.999950000});
  check_close("y", rotated(x), expected, 1e-9);
}

TEST_CASE("rotary: a token with a position of its own is rotated as one that stands there") {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16}) {
    Tensor x = random_tensor({2, 3, 5, 8}, dtype, 1), y = Tensor::empty_like(x);
    RotaryTable table = rotary_table(9, 6, accumulate_type(dtype));
    table.positions_BT = Tensor::from<std::int32_t>({2, 5}, {0, 1, 0, 8, 3, 7, 0, 0, 1, 2});
    for (bool inverse : {false, true}) {
      rotary(x, table, inverse, y);
      for (std::int64_t row = 0; row < 30; ++row) {
        std::int64_t b = row / 15, t = row % 5, p = table.positions_BT.data<std::int32_t>()[b * 5 + t];
        Tensor there = Tensor::zeros({1, 1, 9, 8}, dtype), place = there.reshape({9, 8}).rows(p, p + 1);
        place.copy_from(x.reshape({30, 8}).rows(row, row + 1));
        rotary(there, {table.cos_TE, table.sin_TE}, inverse, there);
        check_close("y", y.reshape({30, 8}).rows(row, row + 1), there.reshape({9, 8}).rows(p, p + 1), 0);
      }
    }
  }
  Tensor x = Tensor::zeros({2, 1, 3, 4});
  RotaryTable table = rotary_table(3, 4, DType::F32);
  table.positions_BT = Tensor::zeros({3, 2}, DType::I32);
  check_refused([&] { rotary(x, table, false, x); }, {"[rotary]", "positions are i32 (3, 2)"});
}

TEST_CASE("split_rotary: the bits of split_heads and rotary, and its backward those of theirs") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64})
    for (auto [B, T] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {2, 65}, {1, 130}})
      for (std::int64_t width : {0, 6, 8}) {
        CAPTURE(T);
        CAPTURE(width);
        RotaryTable table = rotary_table(T, width, dtype == DType::F64 ? DType::F64 : DType::F32);
        if (B == 2) {
          table.positions_BT = Tensor::empty({B, T}, DType::I32);
          for (std::int64_t n = 0; n < B * T; ++n)
            table.positions_BT.data<std::int32_t>()[n] = static_cast<std::int32_t>(n * 7 % T);
        }
        Tensor qkv = random_tensor({B, T, 10 * 9}, dtype, 1);
        auto empty = [&](std::int64_t heads) { return Tensor::empty({B, heads, T, 9}, dtype); };
        Tensor q = empty(4), k = empty(3), v = empty(3), expected_q = empty(4), expected_k = empty(3),
               expected_v = empty(3);
        split_rotary(qkv, table, q, k, v);
        split_heads(qkv, expected_q, expected_k, expected_v);
        rotary(expected_q, table, false, expected_q);
        rotary(expected_k, table, false, expected_k);
        check_close("q", q, expected_q, 0);
        check_close("k", k, expected_k, 0);
        check_close("v", v, expected_v, 0);
        expected_q = q.clone(), expected_k = k.clone();
        Tensor dqkv = Tensor::empty_like(qkv), expected_dqkv = Tensor::empty_like(qkv);
        split_rotary_backward(q, k, v, table, dqkv);
        rotary(expected_q, table, true, expected_q);
        rotary(expected_k, table, true, expected_k);
        split_heads_backward(expected_q, expected_k, expected_v, expected_dqkv);
        check_close("dqkv", dqkv, expected_dqkv, 0);
      }
}

TEST_CASE("split_rotary: every backend equals the double reference") {
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

TEST_CASE("rotary: every backend equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t T : {0, 1, 7, 33})
      for (std::int64_t D : {2, 6, 66, 128}) check_rotary(T, D, D, T, dtype);
}

TEST_CASE("rotary: every backend with a narrower table, for more positions than there are") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t T : {1, 65})
      for (std::int64_t width : {0, 2, 6, 8}) check_rotary(T, 9, width, T + 5, dtype);
}

TEST_CASE("gradient: rotary") {
  Var x = random_var({2, 2, 5, 6}, 1);
  RotaryTable table = rotary_table(5, 6, DType::F64);
  check_gradient([&] { return rotary(x, table); }, {x});
}

TEST_CASE("gradient: split_rotary, of whole heads and of a part, with shared keys") {
  Var qkv = random_var({2, 5, 4 * 6}, 1);
  for (std::int64_t width : {6, 2}) {
    RotaryTable table = rotary_table(5, width, DType::F64);
    check_gradient(
        [&] {
          auto [q, k, v] = split_rotary(qkv, 2, 1, table);
          return add(sum_heads(q), add(merge_heads(k), merge_heads(v)));
        },
        {qkv});
    check_gradient([&] { return merge_heads(split_rotary(qkv, 2, 1, table).q_BHTD); }, {qkv});
  }
}

TEST_CASE("split_rotary: shapes that do not fit are named") {
  Tensor qkv = Tensor::zeros({2, 3, 4 * 6}), q = Tensor::zeros({2, 2, 3, 6}), k = Tensor::zeros({2, 1, 3, 6});
  RotaryTable table = rotary_table(3, 6, DType::F32);
  check_refused([&] { split_rotary(Tensor::zeros({2, 3, 30}), table, q, k, k); }, {"[split_rotary]", "(2, 3, 30)"});
  check_refused([&] { split_rotary(qkv, rotary_table(2, 6, DType::F32), q, k, k); }, {"[split_rotary]", "(2, 3)"});
  check_refused([&] { split_rotary(qkv, table, q, k, q); }, {"[split_rotary]", "v", "(2, 1, 3, 6)"});
}

TEST_CASE("rotary: works in place and with a table longer than the sequence") {
  Tensor x = random_tensor({1, 2, 9, 8}, DType::F32, 4), y = x.clone();
  rotary(y, rotary_table(20, 8, DType::F32), false, y);
  check_close("y", y, rotated(x), 0);
}

TEST_CASE("rotary: shapes and types that do not fit are named") {
  Tensor x = Tensor::zeros({1, 2, 9, 8}), y = x.clone();
  check_refused([&] { rotary(x, rotary_table(5, 8, DType::F32), false, y); }, {"[rotary]", "(1, 2, 9, 8)", "(5, 4)"});
  check_refused([&] { rotary(x, rotary_table(9, 10, DType::F32), false, y); }, {"[rotary]", "(1, 2, 9, 8)", "(9, 5)"});
  check_refused([&] { rotary(x, rotary_table(9, 8, DType::F64), false, y); }, {"f64 (9, 4)"});
  check_refused([&] { rotary_table(9, 7, DType::F32); }, {"even", "7"}, Exit::usage);
}
