// The length, the kurtosis and the largest size of rows.
#include "engine/ops/reductions/row_statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/check_refused.h"
#include "tests/support/every_backend.h"

using namespace sink;

namespace {

Tensor statistics_of(const Tensor& x) {
  Tensor statistics = Tensor::zeros({3, x.size() / x.dim(-1)}, DType::F64, x.device());
  row_statistics(x, statistics);
  return statistics.to(Device::cpu);
}

}  // namespace

TEST_CASE("row_statistics: rows by hand, on every backend") {
  // A single outlier among D elements has the kurtosis D - 2 + 1 / (D - 1) exactly; equal elements have 0.
  Tensor x = Tensor::from<float>({3, 4}, {3, 0, -4, 0, 7, 7, 7, 7, 0, 100, 0, 0});
  for (Device device : kDevices) {
    const Tensor s = statistics_of(x.to(device));
    for (auto [n, length, kurtosis, largest] :
         {std::tuple(0, 5.0, 0.0, 4.0), {1, 14.0, 0.0, 7.0}, {2, 100.0, 7 / 3.0, 100.0}}) {
      CHECK(s.item(n) == doctest::Approx(length).epsilon(1e-6));
      if (n > 0) CHECK(s.item(3 + n) == doctest::Approx(kurtosis).epsilon(1e-5));
      CHECK(s.item(6 + n) == largest);
    }
    // (3, 0, -4, 0): mean -1/4, deviations 13/4, 1/4, -15/4, 1/4.
    const double second = (169 + 1 + 225 + 1) / 64.0, fourth = (169 * 169 + 1 + 225 * 225 + 1) / 1024.0;
    CHECK(s.item(3) == doctest::Approx(fourth / (second * second)).epsilon(1e-5));
  }
}

TEST_CASE("row_statistics: every backend equals the double reference") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t N : {1, 5, 33})
      for (std::int64_t D : {1, 7, 64, 300}) {
        CAPTURE(N);
        CAPTURE(D);
        Tensors given{random_tensor({N, D}, dtype, 1, 3), Tensor::zeros({3, N}, DType::F64)};
        check_backends("row_statistics", given, [](Tensors& t) { row_statistics(t[0], t[1]); });
      }
}

TEST_CASE("row_statistics: elements of any size") {
  // Squares and fourth powers of these leave the range of a float.
  const float huge = 3e38f, tiny = 1e-30f, infinity = std::numeric_limits<float>::infinity();
  for (Device device : kDevices) {
    const Tensor s =
        statistics_of(Tensor::from<float>({4, 2}, {huge, huge, tiny, -tiny, infinity, 1, std::nanf(""), 2}).to(device));
    CHECK(s.item(0) / (std::sqrt(2.0) * 3e38) == doctest::Approx(1));  // ratios: Approx allows an absolute error too
    CHECK(s.item(1) / (std::sqrt(2.0) * 1e-30) == doctest::Approx(1));
    CHECK(s.item(2) == std::numeric_limits<double>::infinity());
    CHECK(std::isnan(s.item(3)));
    CHECK(s.item(4) == 0);
    CHECK(s.item(5) == doctest::Approx(1));
    CHECK(s.item(6) == 0);
    CHECK(s.item(7) == 0);
    CHECK(s.item(10) == std::numeric_limits<double>::infinity());
    CHECK(s.item(11) == 2);
  }
}

TEST_CASE("row_statistics: shapes and types that do not fit are named") {
  Tensor x = Tensor::zeros({3, 4}), wrong = Tensor::zeros({3, 4}, DType::F64), f32 = Tensor::zeros({3, 3});
  check_refused([&] { row_statistics(x, wrong); }, {"[row_statistics]", "f32 (3, 4)", "f64 (3, 4)"});
  check_refused([&] { row_statistics(x, f32); }, {"[row_statistics]", "f32 (3, 4)", "f32 (3, 3)"});
  check_refused([&] { row_statistics(Tensor::zeros({2}, DType::I32), wrong); }, {"[row_statistics]", "i32 (2)"});
}
