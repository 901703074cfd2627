// Products with the stored matrices of a mixture's experts, compared with plain loops over tokens and experts in
// double.
#include "engine/ops/stored_product/stored_expert_product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/ops/stored_product/stored_product.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/stored_sample.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

constexpr std::int64_t kExperts = 5, kN = 3, kK = 32;  // of an expert

// Every token chooses two experts with different weights; no token chooses the last one.
Tensor router(std::int64_t M, DType type) {
  Tensor p = Tensor::zeros({M, kExperts});
  for (std::int64_t m = 0; m < M; ++m) {
    p.data<float>()[m * kExperts + m % 3] = 0.25f;
    p.data<float>()[m * kExperts + 3] = 0.75f;
  }
  return p.to(type);
}

// (M, kExperts kK), 0 for the experts that are not chosen.
Tensor chosen_inputs(std::int64_t M, DType type) {
  Tensor x = random_tensor({M, kExperts * kK}, DType::F32, 1);
  const Tensor p = router(M, DType::F32);
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (p.data<float>()[i / kK] == 0) x.data<float>()[i] = i % 2 ? 0.0f : -0.0f;
  return x.to(type);
}

// An expert is a part of the matrix, kN of its rows. The line of an expert that no token chooses is null.
StoredMatrix stacked(const StoredSample& w) {
  StoredMatrix experts = w.matrix;
  const StoredPart all = w.matrix.parts[0];
  experts.parts.clear();
  for (std::int64_t e = 0; e < kExperts; ++e) {
    StoredPart part{all.type, false, kN, {all.lines.begin() + e * kN, all.lines.begin() + (e + 1) * kN}};
    if (e == kExperts - 1) part.lines.assign(kN, nullptr);
    experts.parts.push_back(std::move(part));
  }
  return experts;
}

// An expert is kK columns of the matrix: pieces of its rows, or where the matrix is transposed lines of their own.
StoredMatrix side_by_side(const StoredSample& w, bool transposed) {
  StoredMatrix experts = transposed ? w.matrix : w.in_pieces(kExperts);
  std::vector<const unsigned char*>& lines = experts.parts[0].lines;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (transposed ? i >= (kExperts - 1) * kK : i % kExperts == kExperts - 1) lines[i] = nullptr;
  return experts;
}

// Times 2, the factor of the matrices below.
Tensor expected_product(const Tensor& x, const Tensor& p, const Tensor& w) {
  const std::int64_t M = x.dim(0);
  return Tensor::table<double>(M, kExperts * kN, [&](std::int64_t m, std::int64_t n) {
    double sum = 0;
    for (std::int64_t k = 0; k < kK; ++k) sum += 2 * x.item(m * kK + k) * w.item(n * kK + k);
    return p.item(m * kExperts + n / kN) == 0 ? 0 : sum;
  });
}
Tensor expected_sum(const Tensor& x, const Tensor& w) {
  const std::int64_t M = x.dim(0), K = kExperts * kK;
  return Tensor::table<double>(M, kN, [&](std::int64_t m, std::int64_t n) {
    double sum = 0;
    for (std::int64_t k = 0; k < K; ++k) sum += 2 * x.item(m * K + k) * w.item(n * K + k);
    return sum;
  });
}

constexpr std::pair<DType, double> kTolerances[] = {{DType::F64, 1e-13}, {DType::F32, 1e-5}, {DType::BF16, 0x1p-6}};

}  // namespace

TEST_CASE("stored experts: each multiplies the rows that choose it; weights of the others are not read") {
  for (const StoredSample& w : {StoredSample::plain(kExperts * kN, kK, false), StoredSample::q8(kExperts * kN, kK)})
    for (auto [type, tolerance] : kTolerances)
      for (std::int64_t M : {1, 2, 7, 8, 40}) {
        CAPTURE(M);
        StoredMatrix experts = stacked(w);
        experts.times = 2;
        const Tensor x = random_tensor({M, kK}, type, 1), p = router(M, type);
        Tensor y = Tensor::full({M, kExperts * kN}, 7, type);
        stored_expert_product(x, p, experts, y);
        check_close("y", y, expected_product(x, p, w.numbers_NK), tolerance);
        in_reference([&] { return stored_expert_product(x, p, experts, y), y; });
        check_close("reference y", y, expected_product(x, p, w.numbers_NK), tolerance);
      }
}

TEST_CASE("stored experts: the sum over the chosen, of pieces of rows and of transposed matrices") {
  for (bool transposed : {false, true})
    for (const StoredSample& w :
         {StoredSample::plain(kN, kExperts * kK, transposed), StoredSample::q8(kN, kExperts * kK)}) {
      if (transposed && w.matrix.parts[0].type != StoredType::F32) continue;  // blocks are never transposed
      for (auto [type, tolerance] : kTolerances)
        for (std::int64_t M : {1, 2, 7, 8, 40}) {
          CAPTURE(M);
          StoredMatrix experts = side_by_side(w, transposed);
          experts.times = 2;
          const Tensor x = chosen_inputs(M, type);
          Tensor y = Tensor::full({M, kN}, 7, type);
          stored_expert_sum(x, kExperts, experts, y);
          check_close("y", y, expected_sum(x, w.numbers_NK), tolerance);
          in_reference([&] { return stored_expert_sum(x, kExperts, experts, y), y; });
          check_close("reference y", y, expected_sum(x, w.numbers_NK), tolerance);
        }
    }
}

TEST_CASE("stored experts: every backend equals the double reference") {
  const StoredSample rows = StoredSample::q8(kExperts * kN, kK), columns = StoredSample::q8(kN, kExperts * kK);
  for (DType type : {DType::F32, DType::BF16})
    for (std::int64_t M : {2, 20}) {
      const Tensors given{router(M, type), random_tensor({M, kK}, type, 1), Tensor::zeros({M, kExperts * kN}, type),
                          chosen_inputs(M, type), Tensor::zeros({M, kN}, type)};
      check_backends("stored experts", given, [&](Tensors& t) {
        stored_expert_product(t[1], t[0], stacked(rows), t[2]);
        stored_expert_sum(t[3], kExperts, side_by_side(columns, false), t[4]);
      });
    }
}

TEST_CASE("stored experts: a sum in BF16 is rounded once") {
  const StoredSample w = StoredSample::q8(kN, kExperts * kK);  // whose values BF16 holds
  for (std::int64_t M : {2, 40}) {
    const Tensor x = chosen_inputs(M, DType::BF16);
    StoredMatrix experts = side_by_side(w, false);
    experts.times = 2;
    Tensor y = Tensor::empty({M, kN}, DType::BF16);
    stored_expert_sum(x, kExperts, experts, y);
    const Tensor expected = expected_sum(x, w.numbers_NK);
    for (std::int64_t i = 0; i < y.size(); ++i)
      CHECK(std::abs(y.item(i) - expected.item(i)) <= std::abs(expected.item(i)) * 0x1.02p-8);
  }
}

TEST_CASE("stored experts: a matrix whose experts cannot be separated is multiplied as a whole") {
  const StoredSample rows = StoredSample::q8(6, 32), columns = StoredSample::q8(6, 64);
  for (std::int64_t M : {3, 8}) {
    const Tensor x = random_tensor({M, 32}, DType::F32, 1), p = Tensor::full({M, 2}, 0.5);
    Tensor y = Tensor::empty({M, 6}), expected = Tensor::empty({M, 6});
    stored_expert_product(x, p, rows.matrix, y);
    stored_product(x, rows.matrix, expected);
    check_close("y", y, expected, 0);
    const Tensor wide = random_tensor({M, 64}, DType::F32, 1);
    stored_expert_sum(wide, 2, columns.matrix, y);
    stored_product(wide, columns.matrix, expected);
    check_close("sum", y, expected, 0);
  }
}

TEST_CASE("stored experts: refuse shapes that do not fit") {
  const StoredSample w = StoredSample::q8(6, 32);
  const Tensor x = Tensor::empty({2, 32}), p = Tensor::empty({2, 3}), other = Tensor::empty({3, 3});
  Tensor y = Tensor::empty({2, 6});
  check_refused([&] { stored_expert_product(x, other, w.matrix, y); }, {"f32 (3, 3)", "stored (6, 32)"});
  check_refused([&] { stored_expert_product(x, p.to(DType::F64), w.matrix, y); }, {"f64 (2, 3)", "stored (6, 32)"});
  check_refused([&] { stored_expert_sum(x, 3, w.matrix, y); }, {"experts are 3", "stored (6, 32)"});
  check_refused([&] { stored_expert_sum(p, 1, w.matrix, y); }, {"f32 (2, 3)", "stored (6, 32)"});
}
