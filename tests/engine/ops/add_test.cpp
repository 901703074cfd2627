// Sums of tensors, sums over a batch, and scaling.
#include "engine/ops/add/add.h"

#include <doctest/doctest.h>

#include "autograd/ops/add_node.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"

using namespace sink;

TEST_CASE("add: sums by hand in every type") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    Tensor a = Tensor::from<float>({3}, {1, -2, 0.5}).to(dtype), b = Tensor::from<float>({3}, {3, 2, 0.25}).to(dtype);
    Tensor y = Tensor::empty({3}, dtype), expected = Tensor::from<float>({3}, {4, 0, 0.75});
    add(a, b, y);
    check_close("a + b", y, expected, 0);
    check_close("a", a, Tensor::from<float>({3}, {1, -2, 0.5}), 0);
    Tensor sum = a.clone();
    add_into(sum, b);
    check_close("a += b", sum, expected, 0);
  }
}

TEST_CASE("add_rows: the table goes to every sequence, backward sums over them") {
  // B = 2, T = 2, C = 1; the table has a third row that no position uses.
  Tensor x = Tensor::from<float>({2, 2, 1}, {1, 2, 3, 4}), p = Tensor::from<float>({3, 1}, {10, 20, 30});
  Tensor y = Tensor::empty({2, 2, 1}), dp = Tensor::full({3, 1}, 100);
  add_rows(x, p, y);
  check_close("x + p", y, Tensor::from<float>({2, 2, 1}, {11, 22, 13, 24}), 0);
  add_rows_backward(x, dp, true);  // dp_t = 100 + dy_0t + dy_1t
  check_close("dp added", dp, Tensor::from<float>({3, 1}, {104, 106, 100}), 0);
  add_rows_backward(x, dp, false);
  check_close("dp", dp, Tensor::from<float>({3, 1}, {4, 6, 0}), 0);
}

TEST_CASE("scale: multiplies every number") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    auto times = [](Tensor a, double factor) {
      Tensor scaled = a.clone();
      scale(scaled, Tensor::full({1}, factor, accumulate_type(a.dtype())));
      return scaled;
    };
    Tensor x = random_tensor({40001}, dtype, 5), scaled = times(x, -0.5);  // a power of two is exact
    check_close("x", times(scaled, -2), x, 0);
    check_close("once", times(x, 1), x, 0);
    CHECK(scaled.item(40000) == -0.5 * x.item(40000));
  }
  Tensor x = Tensor::zeros({3}), two = Tensor::zeros({2}), wide = Tensor::zeros({1}, DType::F64);
  check_refused([&] { scale(x, two); }, {"[scale]", "f32 (3)", "f32 (2)"});
  check_refused([&] { scale(x, wide); }, {"[scale]", "f32 (3)", "f64 (1)"});
}

TEST_CASE("add: every backend equals the double reference, also for a bf16 branch and in place") {
  struct Types {
    DType a, b;
  };
  for (Types types : {Types{DType::F32, DType::F32}, Types{DType::BF16, DType::BF16}, Types{DType::F32, DType::BF16},
                      Types{DType::F64, DType::F64}})
    for (std::int64_t n : {0, 1, 7, 33, 256, 40003}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, types.a, 1), random_tensor({n}, types.b, 2), random_tensor({n}, types.a, 3),
                    random_tensor({n}, types.a, 4)};
      auto run = [](Tensors& t) {
        add(t[0], t[1], t[2]);
        add_into(t[3], t[1]);
      };
      check_backends("add", given, run, 1e-7, 0x1p-8);
      if (n == 256) check_unaligned_backends("add", given, run);
    }
}

TEST_CASE("add_rows: every backend equals the double reference, with a table of more rows than positions") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t B : {1, 5})
      for (std::int64_t T : {0, 1, 7, 65})
        for (std::int64_t C : {1, 33, 128}) {
          CAPTURE(B);
          CAPTURE(T);
          CAPTURE(C);
          Tensors given{random_tensor({B, T, C}, dtype, 1), random_tensor({T + 2, C}, dtype, 2),
                        random_tensor({B, T, C}, dtype, 3)};
          auto run = [](Tensors& t) { add_rows(t[0], t[1], t[2]); };
          check_backends("add_rows", given, run, 1e-6, 0x1p-8);
        }
}

TEST_CASE("add_rows_backward: every backend equals the double reference, and rows without a position get 0") {
  for (std::int64_t B : {1, 5})
    for (std::int64_t T : {0, 1, 7, 65})
      for (std::int64_t C : {1, 33, 128})
        for (std::int64_t more : {0, 2})
          for (bool accumulate : {false, true}) {
            CAPTURE(B);
            CAPTURE(T);
            CAPTURE(C);
            CAPTURE(more);
            CAPTURE(accumulate);
            Tensors given{random_tensor({B, T, C}, DType::F32, 1), random_tensor({T + more, C}, DType::F32, 2)};
            auto run = [&](Tensors& t) { add_rows_backward(t[0], t[1], accumulate); };
            check_backends("add_rows_backward", given, run, 1e-6);
          }
}

TEST_CASE("scale: every backend equals the double reference, and a factor of 1 changes nothing") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t n : {0, 1, 7, 33, 256, 1003})
      for (float factor : {1.0f / 3, -2.0f, 1.0f}) {
        CAPTURE(n);
        CAPTURE(factor);
        Tensors given{random_tensor({n}, dtype, 1), Tensor::full({1}, factor)};
        bool exact = factor == 1;
        auto run = [](Tensors& t) { scale(t[0], t[1]); };
        check_backends("scale", given, run, exact ? 0 : 1e-7, exact ? 0 : 0x1p-8);
      }
}

TEST_CASE("gradient: add, also of a tensor with itself") {
  Var a = random_var({3, 4}, 1), b = random_var({3, 4}, 2);
  check_gradient([&] { return add(a, b); }, {a, b});
  check_gradient([&] { return add(add(a, a), b); }, {a, b});
}

TEST_CASE("gradient: add_rows, with more rows than positions") {
  Var x = random_var({2, 3, 4}, 1);
  const Parameter& p = random_parameter("p", {5, 4});
  check_gradient([&] { return add_rows(x, p.var()); }, {x, p.var()});
}

TEST_CASE("add: shapes and types that do not fit are named") {
  Tensor a = Tensor::zeros({2, 3}), b = Tensor::zeros({3, 2}), y = Tensor::zeros({2, 3});
  check_refused([&] { add(a, b, y); }, {"[add]", "f32 (2, 3)", "f32 (3, 2)"});
  Tensor wide = Tensor::zeros({2, 3}, DType::F64);
  check_refused([&] { add(a, wide, y); }, {"[add]", "f32 (2, 3)", "f64 (2, 3)"});
  Tensor x = Tensor::zeros({2, 4, 3}), x_y = Tensor::zeros({2, 4, 3});
  check_refused([&] { add_rows(x, a, x_y); }, {"[add_rows]", "f32 (2, 4, 3)", "f32 (2, 3)"});
  check_refused([&] { add_rows_backward(x, a, false); }, {"[add_rows_backward]", "f32 (2, 4, 3)", "f32 (2, 3)"});
}

TEST_CASE("add_rows_backward: a table of another width or a gradient of another rank is refused") {
  Tensor dy = Tensor::zeros({2, 4, 3}), flat = Tensor::zeros({8, 3}), other_width = Tensor::zeros({3, 5});
  Tensor dp = Tensor::zeros({4, 3});
  check_refused([&] { add_rows_backward(dy, other_width, false); }, {"[add_rows_backward]", "(2, 4, 3)", "(3, 5)"});
  check_refused([&] { add_rows_backward(flat, dp, false); }, {"[add_rows_backward]", "(8, 3)", "(4, 3)"});
}
