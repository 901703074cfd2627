// The sum of squares behind the global gradient norm.
#include "engine/ops/reductions/sum_of_squares.h"

#include <doctest/doctest.h>

#include <limits>

#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

double sum_of(const Tensor& x, const std::vector<Segment>& segments) {
  Tensor sum = Tensor::empty({1}, DType::F64);
  sum_of_squares(x, segments, sum);
  return sum.item();
}

double sum_of(const Tensor& x) { return sum_of(x, {{0, x.size()}}); }

}  // namespace

TEST_CASE("sum_of_squares: 3, 4 and 12 make 169; nothing makes 0") {
  for (DType dtype : {DType::F32, DType::BF16, DType::F64}) {
    CHECK(sum_of(Tensor::from<float>({3}, {3, -4, 12}).to(dtype)) == 169);
    CHECK(sum_of(Tensor::empty({0}, dtype)) == 0);
  }
}

TEST_CASE("sum_of_squares: 1 to n make n (n+1) (2n+1) / 6, exactly, over any number of blocks") {
  for (std::int64_t n : {1, 15, 16384, 16385, 100000}) {
    Tensor x = Tensor::empty({n});
    for (std::int64_t i = 0; i < n; ++i) x.data<float>()[i] = static_cast<float>(i + 1);
    CHECK(sum_of(x) == static_cast<double>(n * (n + 1) * (2 * n + 1) / 6));  // below 2^53
  }
}

TEST_CASE("sum_of_squares: equals F64 on the same numbers") {
  for (DType dtype : {DType::F32, DType::BF16})
    for (std::int64_t n : {1, 33, 70001}) {
      Tensor x = random_tensor({n}, dtype, 1);
      double exact = sum_of(x.to(DType::F64));
      CHECK(sum_of(x) == doctest::Approx(exact).epsilon(1e-12));
      CHECK(in_reference([&] { return sum_of(x); }) == exact);
    }
}

TEST_CASE("sum_of_squares: the same bits with one and with two threads") {
  Tensor x = random_tensor({300007}, DType::F32, 2);
  int threads = thread_count();
  set_thread_count(1);
  double one = sum_of(x);
  set_thread_count(2);
  double two = sum_of(x);
  set_thread_count(threads);
  CHECK(one == two);
}

TEST_CASE("sum_of_squares: squares beyond f32 do not overflow; a NaN anywhere shows") {
  Tensor x = Tensor::full({4}, 1e30);
  CHECK(sum_of(x) == doctest::Approx(4e60).epsilon(1e-6));
  x = Tensor::zeros({70001});
  x.data<float>()[50000] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(sum_of(x)));
}

TEST_CASE("sum_of_squares: whole numbers are refused") {
  check_refused([] { sum_of(Tensor::zeros({2, 3}, DType::I32)); }, {"i32"});
}

TEST_CASE("sum_of_squares: segments count, what lies between them does not, and each is summed as if alone") {
  Tensor x = random_tensor({100000}, DType::F32, 3);
  const std::vector<Segment> segments{{0, 40001}, {40032, 40033}, {40064, 40064}, {40096, 99999}};
  double expected = 0;
  for (const Segment& segment : segments) {
    Tensor part = x.rows(segment.begin, segment.end);
    for (std::int64_t i = segment.end; i < segment.end + 32 && i < 99999; ++i)
      if (i < 40096 && i != 40032) x.data<float>()[i] = std::numeric_limits<float>::quiet_NaN();
    expected += sum_of(part.clone());
  }
  CHECK(sum_of(x, segments) == expected);  // to the bit
  CHECK(sum_of(x, {}) == 0);
}

TEST_CASE("sum_of_squares: a segment outside of the tensor and a sum of another type are refused") {
  check_refused([] { sum_of(Tensor::zeros({8}), {{4, 9}}); }, {"[4, 9)", "f32 (8)"});
  Tensor sum = Tensor::zeros({1});
  check_refused([&] { sum_of_squares(Tensor::zeros({8}), {{0, 8}}, sum); }, {"f64", "f32 (1)"});
}
