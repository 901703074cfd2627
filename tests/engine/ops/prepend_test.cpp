// A row before every sequence, its removal, and their gradients.
#include "engine/ops/prepend/prepend.h"

#include <doctest/doctest.h>

#include "autograd/ops/prepend_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

TEST_CASE("prepend: two sequences of two positions by hand") {
  Tensor x = Tensor::from<float>({2, 2, 1}, {1, 2, 3, 4}), row = Tensor::from<float>({1, 1}, {9});
  Tensor y = Tensor::empty({2, 3, 1});
  prepend(x, row, y);
  check_close("y", y, Tensor::from<float>({2, 3, 1}, {9, 1, 2, 9, 3, 4}), 0);
  Tensor dy = Tensor::from<float>({2, 3, 1}, {10, 11, 12, 20, 21, 22}), dx = Tensor::empty({2, 2, 1});
  Tensor drow = Tensor::full({1, 1}, 100);
  prepend_backward(dy, dx, drow, true);
  check_close("dx", dx, Tensor::from<float>({2, 2, 1}, {11, 12, 21, 22}), 0);
  check_close("drow added", drow, Tensor::from<float>({1, 1}, {130}), 0);
  prepend_backward(dy, dx, drow, false);
  check_close("drow", drow, Tensor::from<float>({1, 1}, {30}), 0);
}

TEST_CASE("drop_first: by hand in every type, and a single position leaves nothing") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor x = Tensor::from<float>({2, 3, 1}, {9, 1, 2, 9, 3, 4}).to(dtype), y = Tensor::empty({2, 2, 1}, dtype);
    drop_first(x, y);
    check_close("y", y, Tensor::from<float>({2, 2, 1}, {1, 2, 3, 4}), 0);
    Tensor dx = Tensor::full(x.shape(), 5, dtype);
    drop_first_backward(y, dx);
    check_close("dx", dx, Tensor::from<float>({2, 3, 1}, {0, 1, 2, 0, 3, 4}), 0);
  }
  Tensor x = Tensor::full({2, 1, 3}, 1), nothing = Tensor::empty({2, 0, 3});
  drop_first(x, nothing);
  drop_first_backward(nothing, x);
  check_close("dx", x, Tensor::zeros({2, 1, 3}), 0);
}

TEST_CASE("prepend: every backend equals the double reference") {
  for (std::int64_t B : {1, 9})
    for (std::int64_t T : {0, 1, 7, 33})
      for (std::int64_t C : {1, 33, 128})
        for (bool accumulate : {false, true}) {
          CAPTURE(B);
          CAPTURE(T);
          CAPTURE(C);
          CAPTURE(accumulate);
          Shape shorter{B, T, C}, longer{B, 1 + T, C};
          Tensors given{random_tensor(shorter, DType::F32, 1), random_tensor({1, C}, DType::F32, 2),
                        random_tensor(longer, DType::F32, 3),  random_tensor(longer, DType::F32, 4),
                        random_tensor(shorter, DType::F32, 5), random_tensor({1, C}, DType::F32, 6)};
          auto run = [&](Tensors& t) {
            prepend(t[0], t[1], t[2]);
            prepend_backward(t[3], t[4], t[5], accumulate);
          };
          check_backends("prepend", given, run, 1e-6);
        }
}

TEST_CASE("drop_first: every backend equals the double reference, to the bit") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t B : {1, 5})
      for (std::int64_t T : {0, 1, 7, 65})
        for (std::int64_t C : {1, 33, 128}) {
          CAPTURE(B);
          CAPTURE(T);
          CAPTURE(C);
          Shape shorter{B, T, C}, longer{B, 1 + T, C};
          Tensors given{random_tensor(longer, dtype, 1), random_tensor(shorter, dtype, 2),
                        random_tensor(shorter, dtype, 3), random_tensor(longer, dtype, 4)};
          auto both_ways = [](Tensors& t) {
            drop_first(t[0], t[1]);
            drop_first_backward(t[2], t[3]);
          };
          check_backends("drop_first", given, both_ways, 0, 0);
        }
}

TEST_CASE("gradient: prepend and drop_first") {
  Var x = random_var({2, 3, 4}, 1);
  const Parameter& row = random_parameter("row", {1, 4});
  check_gradient([&] { return prepend(x, row); }, {x, row.var()});
  check_gradient([&] { return prepend(prepend(x, row), row); }, {x, row.var()});
  check_gradient([&] { return drop_first(x); }, {x});
}

TEST_CASE("prepend: shapes and types that do not fit are named") {
  Tensor x = Tensor::zeros({2, 4, 3}), y = Tensor::zeros({2, 5, 3}), row = Tensor::zeros({1, 3});
  Tensor wide = Tensor::zeros({1, 4}), row_f64 = row.to(DType::F64), x_bf16 = x.to(DType::BF16);
  Tensor y_bf16 = y.to(DType::BF16), row_bf16 = row.to(DType::BF16);
  check_refused([&] { prepend(x, row, x); }, {"[prepend]", "f32 (2, 4, 3)", "(B, 1 + T, C)"});
  check_refused([&] { prepend(x, wide, y); }, {"[prepend]", "f32 (2, 4, 3)", "f32 (1, 4)"});
  check_refused([&] { prepend(x, row_f64, y); }, {"[prepend]", "f64 (1, 3)"});
  check_refused([&] { prepend_backward(y_bf16, x_bf16, row_bf16, false); }, {"[prepend_backward]", "bf16 (1, 3)"});
  check_refused([&] { drop_first(x, y); }, {"[drop_first]", "f32 (2, 5, 3)", "f32 (2, 4, 3)"});
  check_refused([&] { drop_first_backward(y, x); }, {"[prepend]", "f32 (2, 5, 3)", "f32 (2, 4, 3)"});
}
