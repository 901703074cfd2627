// The matrix product: oneDNN and the plain loops against products by hand, each other and F64.
#include "engine/ops/matmul/matmul.h"

#include <doctest/doctest.h>

#include "engine/stop_point.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

struct Case {
  std::int64_t M, N, K;
  bool transpose_a = false, transpose_b = false;
};

// Sizes of one, odd ones, and enough rows (256) for oneDNN to pack b.
const Case kCases[] = {{1, 1, 1},
                       {1, 7, 5},
                       {5, 1, 3},
                       {3, 4, 1},
                       {17, 33, 65},
                       {64, 64, 64},
                       {300, 48, 96},
                       {257, 65, 31},
                       {31, 5, 700},
                       {6, 5, 4, true, false},
                       {6, 5, 4, false, true},
                       {6, 5, 4, true, true},
                       {270, 33, 19, true, false},
                       {270, 33, 19, false, true},
                       {270, 33, 19, true, true}};

struct Operands {
  Tensor a, b, c;
  Operands(const Case& s, DType in, DType out)
      : a(random_tensor(s.transpose_a ? Shape{s.K, s.M} : Shape{s.M, s.K}, in, 1)),
        b(random_tensor(s.transpose_b ? Shape{s.N, s.K} : Shape{s.K, s.N}, in, 2)),
        c(random_tensor({s.M, s.N}, out, 3)) {}
};

void multiply(const Case& s, const Tensor& a, const Tensor& b, Tensor& c, bool accumulate) {
  matmul({a, s.transpose_a}, {b, s.transpose_b}, c, accumulate);
}

void check_all(DType in, DType out, double tolerance) {
  for (const Case& s : kCases) {
    for (bool accumulate : {false, true}) {
      Operands x(s, in, out);
      Tensor expected = x.c.to(DType::F64).clone();
      multiply(s, x.a.to(DType::F64), x.b.to(DType::F64), expected, accumulate);
      multiply(s, x.a, x.b, x.c, accumulate);
      check_close(x.a.str() + " x " + x.b.str() + (accumulate ? " added" : ""), x.c, expected, tolerance);
    }
  }
}

}  // namespace

TEST_CASE("matmul: a product by hand, every way of transposing") {
  // (1 2 3)   ( 7  8)   (1*7+2*9+3*11  1*8+2*10+3*12)   ( 58  64)
  // (4 5 6) x ( 9 10) = (4*7+5*9+6*11  4*8+5*10+6*12) = (139 154)
  //           (11 12)
  Tensor a = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor a_T = Tensor::from<float>({3, 2}, {1, 4, 2, 5, 3, 6});
  Tensor b = Tensor::from<float>({3, 2}, {7, 8, 9, 10, 11, 12});
  Tensor b_T = Tensor::from<float>({2, 3}, {7, 9, 11, 8, 10, 12});
  Tensor expected = Tensor::from<float>({2, 2}, {58, 64, 139, 154});
  for (DType dtype : {DType::F32, DType::F64}) {
    auto check = [&](const char* what, Operand left, Operand right) {
      Tensor c = Tensor::full({2, 2}, NAN, dtype);  // what c held must not matter
      matmul(left, right, c);
      check_close(what, c, expected, 0);
    };
    Tensor l = a.to(dtype), l_T = a_T.to(dtype), r = b.to(dtype), r_T = b_T.to(dtype);
    check("a b", {l}, {r});
    check("a^T b", transposed(l_T), {r});
    check("a b^T", {l}, transposed(r_T));
    check("a^T b^T", transposed(l_T), transposed(r_T));
  }
}

TEST_CASE("matmul: the fast path equals F64") {
  check_all(DType::F32, DType::F32, 1e-5);
  check_all(DType::BF16, DType::F32, 1e-5);  // products of bf16 numbers are exact in f32
  check_all(DType::BF16, DType::BF16, 2e-2);
}

TEST_CASE("matmul: --reference equals F64 and so the fast path") {
  WithReference reference;
  check_all(DType::F32, DType::F32, 0x1p-24);  // rounded once
  check_all(DType::BF16, DType::F32, 0x1p-24);
  check_all(DType::BF16, DType::BF16, 0x1p-8);
}

TEST_CASE("matmul: the identity changes nothing, to the bit") {
  Tensor identity = Tensor::zeros({37, 37});
  for (std::int64_t i = 0; i < 37; ++i) identity.data<float>()[i * 38] = 1;
  Tensor x = random_tensor({37, 37}, DType::F32, 4), y = Tensor::empty({37, 37});
  matmul({x}, {identity}, y);
  check_close("x I", y, x, 0);
  matmul({identity}, {x}, y);
  check_close("I x", y, x, 0);
}

TEST_CASE("matmul: axes before the last count as rows") {
  Tensor x = random_tensor({2, 3, 4}, DType::F32, 5), w = random_tensor({5, 4}, DType::F32, 6);
  Tensor y = Tensor::empty({2, 3, 5}), flat = Tensor::empty({6, 5});
  matmul({x}, transposed(w), y);
  matmul({x.reshape({6, 4})}, transposed(w), flat);
  check_close("x W^T", y.reshape({6, 5}), flat, 0);
}

TEST_CASE("matmul: no rows are no work") {
  Tensor a = Tensor::empty({0, 4}), b = random_tensor({4, 3}, DType::F32, 7), c = Tensor::empty({0, 3});
  CHECK_NOTHROW(matmul({a}, {b}, c));
}

TEST_CASE("matmul: sizes and types that do not fit are named") {
  Tensor a = Tensor::zeros({2, 3}), b = Tensor::zeros({4, 5}), c = Tensor::zeros({2, 5});
  check_refused([&] { matmul({a}, {b}, c); }, {"[matmul]", "f32 (2, 3)", "f32 (4, 5)", "f32 (2, 5)"});
  Tensor b_f64 = Tensor::zeros({3, 5}, DType::F64);
  check_refused([&] { matmul({a}, {b_f64}, c); }, {"[matmul]", "f32 (2, 3)", "f64 (3, 5)"});
  Tensor c_bf16 = Tensor::zeros({2, 5}, DType::BF16), b_f32 = Tensor::zeros({3, 5});
  check_refused([&] { matmul({a}, {b_f32}, c_bf16); }, {"[matmul]", "bf16 (2, 5)"});
}

TEST_CASE("matmul: a large product is computed in parts, with a stop point before each") {
  constexpr std::int64_t kSize = 3712;  // 1.02e11 operations
  for (bool transpose_a : {false, true}) {
    const bool accumulate = transpose_a;
    const Case s{kSize, kSize, kSize, transpose_a, false};
    CAPTURE(transpose_a);
    Operands x(s, DType::F32, DType::F32);
    const Tensor before = x.c.clone();
    std::int64_t stop_points = 0;
    {
      const StopCheck count([&] { ++stop_points; });
      multiply(s, x.a, x.b, x.c, accumulate);
    }
    CHECK(stop_points == 2);
    for (std::int64_t i = 0; i < kSize; i += 371)
      for (std::int64_t j = 0; j < kSize; j += 371) {
        double sum = accumulate ? before.item(i * kSize + j) : 0;
        for (std::int64_t k = 0; k < kSize; ++k)
          sum += x.a.item(transpose_a ? k * kSize + i : i * kSize + k) * x.b.item(k * kSize + j);
        CHECK(std::abs(x.c.item(i * kSize + j) - sum) < 1e-3);
      }
  }
}
