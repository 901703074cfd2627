// The Newton-Schulz iteration, by what it does to singular values.
#include "engine/ops/optimizer/orthogonalize.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

double five_times(double s) {
  for (int n = 0; n < 5; ++n) s = 3.4445 * s - 4.7750 * s * s * s + 2.0315 * s * s * s * s * s;
  return s;
}

Tensor made(const Tensor& x) {
  Tensor y = Tensor::empty_like(x);
  orthogonalize(x, y);
  return y;
}

Tensor transpose_of(const Tensor& x) {
  return Tensor::table<double>(x.dim(1), x.dim(0),
                               [&](std::int64_t i, std::int64_t j) { return x.item(j * x.dim(1) + i); });
}

}  // namespace

TEST_CASE("orthogonalize: a diagonal matrix has its numbers, over the norm, sent through the polynomial five times") {
  for (auto [M, N] : std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 3}, {3, 5}, {6, 3}}) {
    const double values[] = {4, -1, 0.5};
    double norm = std::sqrt(16 + 1 + 0.25) + 1e-7;
    Tensor x = Tensor::table<double>(M, N, [&](std::int64_t i, std::int64_t j) { return i == j ? values[i] : 0.0; });
    Tensor expected = Tensor::table<double>(
        M, N, [&](std::int64_t i, std::int64_t j) { return i == j ? five_times(values[i] / norm) : 0.0; });
    check_close("y", made(x), expected, 1e-13);
  }
}

TEST_CASE("orthogonalize: a matrix of rank one becomes one of norm p(p(p(p(p(1))))), of the same direction") {
  Tensor u = random_tensor({7}, DType::F64, 1), v = random_tensor({4}, DType::F64, 2);
  Tensor x = Tensor::table<double>(7, 4, [&](std::int64_t i, std::int64_t j) { return u.item(i) * v.item(j); });
  double squares = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) squares += x.item(i) * x.item(i);
  Tensor expected = x.clone();
  for (std::int64_t i = 0; i < x.size(); ++i) expected.data<double>()[i] *= five_times(1) / std::sqrt(squares);
  check_close("y", made(x), expected, 1e-6);  // 1e-7 is added to the norm
}

TEST_CASE("orthogonalize: singular values end between 0.6 and 1.3, and the transpose gives the transpose") {
  Tensor x = random_tensor({12, 30}, DType::F64, 1), y = made(x);
  check_close("transpose", made(transpose_of(x)), transpose_of(y), 1e-12);
  // For y y^T, whose eigenvalues are the squares: |y y^T v| / |v| for several v.
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    Tensor v = random_tensor({12}, DType::F64, seed);
    double before = 0, after = 0;
    for (std::int64_t i = 0; i < 12; ++i) before += v.item(i) * v.item(i);
    for (std::int64_t j = 0; j < 30; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < 12; ++i) sum += y.item(i * 30 + j) * v.item(i);
      after += sum * sum;
    }
    CHECK(std::sqrt(after / before) > 0.6);
    CHECK(std::sqrt(after / before) < 1.3);
  }
}

TEST_CASE("orthogonalize: F32 is near F64, the reference in F32 equals it, and zeros stay") {
  for (auto [M, N] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {24, 80}, {80, 24}, {130, 129}}) {
    Tensor x = random_tensor({M, N}, DType::F32, 1), exact = made(x.to(DType::F64));
    check_close("fast", made(x), exact, 1e-4);
    check_close("reference", in_reference([&] { return made(x); }), exact.to(DType::F32), 0);
    check_close("zeros", made(Tensor::zeros({M, N})), Tensor::zeros({M, N}), 0);
  }
}

TEST_CASE("orthogonalize: every backend equals the double reference for tall, wide and square matrices") {
  for (auto [M, N] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 7}, {9, 1}, {24, 40}, {33, 17}, {20, 20}}) {
    CAPTURE(M);
    CAPTURE(N);
    Tensors given{random_tensor({M, N}, DType::F32, 1), random_tensor({M, N}, DType::F32, 2)};
    check_backends(
        "orthogonalize", given, [](Tensors& t) { orthogonalize(t[0], t[1]); }, 1e-4);
  }
}

TEST_CASE("orthogonalize: what is no matrix is named") {
  Tensor y = Tensor::zeros({6});
  check_refused([&] { orthogonalize(Tensor::zeros({6}), y); }, {"[orthogonalize]", "f32 (6)"});
  check_refused([&] { orthogonalize(Tensor::zeros({2, 3}), y); }, {"[orthogonalize]", "f32 (2, 3)", "f32 (6)"});
  check_refused([&] { made(Tensor::zeros({2, 3}, DType::BF16)); }, {"[orthogonalize]", "bf16 (2, 3)"});
}
