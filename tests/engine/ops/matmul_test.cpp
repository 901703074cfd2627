// The matrix product: every backend against products by hand and F64.
#include "engine/ops/matmul/matmul.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "autograd/ops/linear_node.h"
#include "engine/stop_point.h"
#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/gradients.h"
#include "tests/support/in_turn.h"

using namespace sink;

namespace {

struct Case {
  std::int64_t M, N, K;
};

// One, odd sizes, those of the emulator's strips, tiles and depths, one more or less, and enough rows (256) for oneDNN
// to pack b.
const Case kCases[] = {{1, 1, 1},     {1, 7, 5},      {5, 1, 3},     {3, 4, 1},     {6, 5, 4},      {7, 33, 65},
                       {17, 33, 65},  {64, 64, 64},   {16, 64, 17},  {31, 5, 700},  {128, 65, 255}, {65, 63, 33},
                       {257, 65, 31}, {33, 128, 257}, {270, 33, 19}, {300, 48, 128}};

// a, b and c, transposed or not.
Tensors operands(const Case& s, bool transpose_a, bool transpose_b, DType in, DType out) {
  return {random_tensor(transpose_a ? Shape{s.K, s.M} : Shape{s.M, s.K}, in, 1),
          random_tensor(transpose_b ? Shape{s.N, s.K} : Shape{s.K, s.N}, in, 2), random_tensor({s.M, s.N}, out, 3)};
}

void check_all(DType in, DType out) {
  for (const Case& s : kCases)
    for (bool transpose_a : {false, true})
      for (bool transpose_b : {false, true})
        for (bool accumulate : {false, true}) {
          if (!test::in_turn()) continue;
          CAPTURE(transpose_a);
          CAPTURE(transpose_b);
          CAPTURE(accumulate);
          const Tensors given = operands(s, transpose_a, transpose_b, in, out);
          const auto multiply = [&](Tensors& t) { matmul({t[0], transpose_a}, {t[1], transpose_b}, t[2], accumulate); };
          check_backends(given[0].str() + " x " + given[1].str(), given, multiply);
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

TEST_CASE("matmul: every backend equals the double reference, for every transpose and type") {
  check_all(DType::F32, DType::F32);
  check_all(DType::BF16, DType::F32);  // products of bf16 values are exact in f32
  check_all(DType::BF16, DType::BF16);
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

TEST_CASE("matmul: every backend takes axes before the last as rows; a sum of nothing is zero") {
  for (bool accumulate : {false, true}) {
    Tensors rows{random_tensor({2, 3, 4}, DType::F32, 4), random_tensor({5, 4}, DType::F32, 5),
                 random_tensor({2, 3, 5}, DType::F32, 6)};
    check_backends("x W^T", rows, [&](Tensors& t) { matmul({t[0]}, transposed(t[1]), t[2], accumulate); });
    Tensors nothing{Tensor::empty({0, 3}), Tensor::empty({0, 5}), random_tensor({3, 5}, DType::F32, 7)};
    check_backends("K = 0", nothing, [&](Tensors& t) { matmul(transposed(t[0]), {t[1]}, t[2], accumulate); });
    Tensors none{Tensor::empty({0, 4}), random_tensor({4, 3}, DType::F32, 8), Tensor::empty({0, 3})};
    check_backends("no rows", none, [&](Tensors& t) { matmul({t[0]}, {t[1]}, t[2], accumulate); });
  }
}

TEST_CASE("matmul: the bits depend neither on what c held nor on the number of threads") {
  int threads = thread_count();
  for (Device device : kDevices) {
    Tensor a = random_tensor({130, 600}, DType::BF16, 9).to(device);
    Tensor b = random_tensor({600, 200}, DType::BF16, 10).to(device);
    Tensor first;
    for (int count : {1, 2, 5}) {
      set_thread_count(count);
      Tensor c = Tensor::full({130, 200}, NAN, DType::F32, device);
      matmul({a}, {b}, c);
      CHECK(c.device() == device);
      Tensor got = c.to(Device::cpu);
      if (!first.defined()) first = got;
      CHECK(std::memcmp(got.raw(), first.raw(), got.bytes()) == 0);
    }
    set_thread_count(threads);
    CHECK(std::isfinite(first.item()));
  }
}

TEST_CASE("gradient: linear") {
  Var x = random_var({2, 3, 5}, 1);
  const Parameter& w = random_parameter("w", {4, 5});
  check_gradient([&] { return linear(x, w); }, {x, w.var()});
}

TEST_CASE("matmul: the device refuses F64") {
  for (Device device : kAccelerators) {
    Tensor x = Tensor::zeros({2, 2}, DType::F64, device), y = Tensor::zeros({2, 2}, DType::F64, device);
    check_refused([&] { matmul({x}, {x}, y); }, {"f64"});
  }
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
  if (test::kSanitizer) return;         // oneDNN computes it, which has no sanitizer
  for (bool transpose_a : test::some_of({true, false})) {
    const bool accumulate = transpose_a;
    CAPTURE(transpose_a);
    Tensors x = operands({kSize, kSize, kSize}, transpose_a, false, DType::F32, DType::F32);
    const Tensor before = x[2].clone();
    std::int64_t stop_points = 0;
    {
      const StopCheck count([&] { ++stop_points; });
      matmul({x[0], transpose_a}, {x[1]}, x[2], accumulate);
    }
    CHECK(stop_points == 2);
    for (std::int64_t i = 0; i < kSize; i += 371)
      for (std::int64_t j = 0; j < kSize; j += 371) {
        double sum = accumulate ? before.item(i * kSize + j) : 0;
        for (std::int64_t k = 0; k < kSize; ++k)
          sum += x[0].item(transpose_a ? k * kSize + i : i * kSize + k) * x[1].item(k * kSize + j);
        CHECK(std::abs(x[2].item(i * kSize + j) - sum) < 1e-3);
      }
  }
}
