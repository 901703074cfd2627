// The sum of squares for the global gradient norm.
#include "engine/ops/reductions/sum_of_squares.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"

using namespace sink;

namespace {

double sum_of(const Tensor& x, const std::vector<Segment>& segments, Device device = Device::cpu) {
  Tensor sum = Tensor::empty({1}, DType::F64, device);
  sum_of_squares(x.to(device), segments, sum);
  return sum.item();
}

double sum_of(const Tensor& x) { return sum_of(x, {{0, x.size()}}); }

}  // namespace

TEST_CASE("sum_of_squares: 3, 4 and 12 make 169; nothing makes 0") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    CHECK(sum_of(Tensor::from<float>({3}, {3, -4, 12}).to(dtype)) == 169);
    CHECK(sum_of(Tensor::empty({0}, dtype)) == 0);
  }
  for (Device device : kDevices) {
    Tensor x = Tensor::from<float>({3}, {3, -4, 12});
    CHECK(sum_of(x, {{0, 3}}, device) == 169);
    CHECK(sum_of(x, {{1, 2}, {2, 3}}, device) == 160);
    CHECK(sum_of(x, {}, device) == 0);
    CHECK(sum_of(x, {{1, 1}}, device) == 0);
  }
}

TEST_CASE("sum_of_squares: 1 to n make n (n+1) (2n+1) / 6, exactly, over any number of blocks") {
  for (std::int64_t n : {1, 15, 16384, 16385, 100000}) {
    Tensor x = Tensor::empty({n});
    for (std::int64_t i = 0; i < n; ++i) x.data<float>()[i] = static_cast<float>(i + 1);
    CHECK(sum_of(x) == static_cast<double>(n * (n + 1) * (2 * n + 1) / 6));  // below 2^53
  }
}

TEST_CASE("sum_of_squares: squares beyond f32 do not overflow; a NaN anywhere shows") {
  Tensor x = Tensor::full({4}, 1e30);
  CHECK(sum_of(x) == doctest::Approx(4e60).epsilon(1e-6));
  x = Tensor::zeros({70001});
  x.data<float>()[50000] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(sum_of(x)));
}

TEST_CASE("sum_of_squares: every backend equals the double reference, for no number to several blocks") {
  for (std::int64_t n : {0, 1, 7, 33, 300, 65536, 65537, 140001})
    for (DType dtype : {DType::F32, DType::BF16}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, dtype, 1), random_tensor({1}, DType::F64, 2)};
      auto run = [&](Tensors& t) { sum_of_squares(t[0], {{0, t[0].size()}}, t[1]); };
      check_backends("sum_of_squares", given, run, 1e-6);
    }
}

TEST_CASE("sum_of_squares: the blocks of a segment are added before its sum is, in double") {
  // 2^54 + 4 is a double; 2^54 + 2 rounds to 2^54, so neither block's 2 may be added to the first segment alone.
  Tensor x = Tensor::zeros({1 + 65538});
  x.data<float>()[0] = 0x1p27f;
  for (std::int64_t i : {1, 2, 65537, 65538}) x.data<float>()[i] = 1;
  for (Device device : kDevices) CHECK(sum_of(x, {{0, 1}, {1, x.size()}}, device) == 0x1p54 + 4);
}

TEST_CASE("sum_of_squares: elements between segments do not count, and each segment is summed alone") {
  for (Device device : kDevices)
    for (DType dtype : {DType::F32, DType::BF16}) {
      Tensor x = random_tensor({200000}, dtype, 3);
      const std::vector<Segment> segments{{0, 70001}, {70032, 70033}, {70064, 70064}, {70096, 70400}, {70400, 199999}};
      double expected = 0;
      for (const Segment& segment : segments)
        expected += sum_of(x.rows(segment.begin, segment.end).clone(), {{0, segment.size()}}, device);
      for (auto [begin, end] : {Segment{70001, 70032}, {70033, 70096}, {199999, 200000}}) x.rows(begin, end).fill(NAN);
      CHECK(sum_of(x, segments, device) == expected);  // to the bit
      x.rows(150000, 150001).fill(NAN);
      CHECK(std::isnan(sum_of(x, segments, device)));
    }
}

TEST_CASE("sum_of_squares: more segments than one kernel takes, some of them empty") {
  for (std::int64_t count : {127, 128, 129, 300}) {
    CAPTURE(count);
    Tensor x = random_tensor({3 * count}, DType::F32, 4);
    std::vector<Segment> segments;
    double expected = 0;
    for (std::int64_t n = 0; n < count; ++n) {
      segments.push_back({3 * n, 3 * n + n % 3});
      for (std::int64_t i = segments.back().begin; i < segments.back().end; ++i) expected += x.item(i) * x.item(i);
    }
    for (Device device : kDevices) CHECK(sum_of(x, segments, device) == doctest::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("sum_of_squares: whole numbers are refused") {
  check_refused([] { sum_of(Tensor::zeros({2, 3}, DType::I32)); }, {"i32"});
}

TEST_CASE("sum_of_squares: a segment outside of the tensor and a sum of another type are refused") {
  check_refused([] { sum_of(Tensor::zeros({8}), {{4, 9}}); }, {"[4, 9)", "f32 (8)"});
  Tensor sum = Tensor::zeros({1});
  check_refused([&] { sum_of_squares(Tensor::zeros({8}), {{0, 8}}, sum); }, {"f64", "f32 (1)"});
}
