// The mean of many values, as the loss is of the losses of its rows.
#include "engine/ops/reductions/scaled_sum.h"

#include <doctest/doctest.h>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"

using namespace sink;

namespace {

Tensor made(const Tensor& x, double factor, double divisor, DType dtype) {
  Tensor y = Tensor::empty({1}, dtype);
  scaled_sum(x, factor, divisor, y);
  return y;
}

}  // namespace

TEST_CASE("scaled_sum: 1 to n make n (n+1) / 2, times the factor, over the divisor") {
  for (DType dtype : {DType::F32, DType::F64})
    for (std::int64_t n : {1, 100, 70001}) {
      Tensor x = Tensor::empty({n}, DType::F64);
      for (std::int64_t i = 0; i < n; ++i) x.data<double>()[i] = static_cast<double>(i + 1);
      CHECK(made(x.to(dtype), 1, 1, DType::F64).item() == static_cast<double>(n * (n + 1) / 2));
      CHECK(made(x.to(dtype), 0.5, static_cast<double>(n), DType::F64).item() == static_cast<double>(n + 1) / 4);
    }
}

TEST_CASE("scaled_sum: sums in double, and rounds once") {
  // A sum in float would stop at 2^24.
  Tensor x = Tensor::full({(1 << 24) + 3}, 1);
  CHECK(made(x, 1, 1, DType::F64).item() == (1 << 24) + 3);
  CHECK(made(x, 1, 1, DType::F32).item() == (1 << 24) + 4);
  CHECK(made(Tensor::empty({0}), 1, 7, DType::F32).item() == 0);
}

TEST_CASE("scaled_sum: every backend equals the double reference, for no number to several blocks") {
  for (std::int64_t n : {0, 1, 7, 33, 300, 4096, 4097, 70001})
    for (DType dtype : {DType::F32, DType::BF16})
      for (DType sum_type : {DType::F32, DType::BF16, DType::F64}) {
        CAPTURE(n);
        Tensors given{random_tensor({n}, dtype, 1), random_tensor({1}, sum_type, 2)};
        check_backends("scaled_sum", given, [](Tensors& t) { scaled_sum(t[0], 3, 7, t[1]); });
      }
}

TEST_CASE("scaled_sum: blocks are added in double, and rounded once") {
  // In float, every block after 2^24 would lose its 1.
  constexpr std::int64_t kLarge = 1 << 24, kBlocks = 9;
  Tensor x = Tensor::zeros({kBlocks * 4096});
  x.data<float>()[0] = kLarge;
  for (std::int64_t block = 1; block < kBlocks; ++block) x.data<float>()[block * 4096 + 17] = 1;
  for (Device device : kDevices) {
    Tensor y = Tensor::empty({1}, DType::F64, device);
    scaled_sum(x.to(device), 0.5, 4, y);
    CHECK(y.item() == (kLarge + kBlocks - 1) / 8.0);
  }
}

TEST_CASE("scaled_sum: more than one number to write is refused") {
  Tensor y = Tensor::zeros({2});
  check_refused([&] { scaled_sum(Tensor::zeros({3}), 1, 1, y); }, {"f32 (2)"});
}
