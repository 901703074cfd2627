// The sum of squares behind the global gradient norm, on the CUDA device.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/reductions/sum_of_squares.h"
#include "tests/support/device_backend.h"

using namespace sink;

namespace {

double sum_on_device(const Tensor& x, const std::vector<Segment>& segments) {
  Tensor sum = Tensor::empty({1}, DType::F64, Device::cuda);
  sum_of_squares(x.to(Device::cuda), segments, sum);
  return sum.item();
}

}  // namespace

TEST_CASE("sum_of_squares on the device: equals the double reference, for no number to several blocks") {
  for (std::int64_t n : {0, 1, 7, 33, 300, 65536, 65537, 140001})
    for (DType dtype : {DType::F32, DType::BF16}) {
      CAPTURE(n);
      Tensors given{random_tensor({n}, dtype, 1), random_tensor({1}, DType::F64, 2)};
      auto run = [&](Tensors& t) { sum_of_squares(t[0], {{0, t[0].size()}}, t[1]); };
      check_device_backend("sum_of_squares", given, run, 1e-6);
    }
}

TEST_CASE("sum_of_squares on the device: whole numbers are exact, and no segments make 0") {
  CHECK(sum_on_device(Tensor::from<float>({3}, {3, -4, 12}), {{0, 3}}) == 169);
  CHECK(sum_on_device(Tensor::from<float>({3}, {3, -4, 12}), {{1, 2}, {2, 3}}) == 160);
  CHECK(sum_on_device(Tensor::full({3}, 1), {}) == 0);
  CHECK(sum_on_device(Tensor::full({3}, 1), {{1, 1}}) == 0);
}

TEST_CASE("sum_of_squares on the device: blocks of a segment are added before its sum is, in double") {
  // 2^54 + 4 is a double; 2^54 + 2 rounds to 2^54, so neither block's 2 may be added to the first segment alone.
  Tensor x = Tensor::zeros({1 + 65538});
  x.data<float>()[0] = 0x1p27f;
  for (std::int64_t i : {1, 2, 65537, 65538}) x.data<float>()[i] = 1;
  CHECK(sum_on_device(x, {{0, 1}, {1, x.size()}}) == 0x1p54 + 4);
}

TEST_CASE("sum_of_squares on the device: segments count, what lies between does not, each is summed as if alone") {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Tensor x = random_tensor({200000}, dtype, 3);
    const std::vector<Segment> segments{{0, 70001}, {70032, 70033}, {70064, 70064}, {70096, 70400}, {70400, 199999}};
    double expected = 0;
    for (const Segment& segment : segments)
      expected += sum_on_device(x.rows(segment.begin, segment.end).clone(), {{0, segment.size()}});
    auto forget = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) x.rows(i, i + 1).fill(NAN);
    };
    forget(70001, 70032);
    forget(70033, 70096);
    forget(199999, 200000);
    CHECK(sum_on_device(x, segments) == expected);  // to the bit
    forget(150000, 150001);
    CHECK(std::isnan(sum_on_device(x, segments)));
  }
}

TEST_CASE("sum_of_squares on the device: more segments than one kernel takes, empty ones among them") {
  for (std::int64_t count : {127, 128, 129, 300}) {
    CAPTURE(count);
    Tensor x = random_tensor({3 * count}, DType::F32, 4);
    std::vector<Segment> segments;
    double expected = 0;
    for (std::int64_t n = 0; n < count; ++n) {
      segments.push_back({3 * n, 3 * n + n % 3});
      for (std::int64_t i = segments.back().begin; i < segments.back().end; ++i) expected += x.item(i) * x.item(i);
    }
    CHECK(sum_on_device(x, segments) == doctest::Approx(expected).epsilon(1e-6));
  }
}
