// Products with memory-mapped weights, compared with products of tensors with the same values.
#include "engine/ops/stored_product/stored_product.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "engine/ops/matmul/matmul.h"
#include "engine/threads.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/stored_sample.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

Tensor product_of(const Tensor& x, const StoredMatrix& w) {
  Tensor y = Tensor::empty({x.dim(0), w.rows}, x.dtype());
  stored_product(x, w, y);
  return y;
}

}  // namespace

TEST_CASE("stored product: that of the numbers, in every type, of few and of many rows, however the matrix lies") {
  for (std::int64_t K : {32, 96})
    for (const StoredSample& w :
         {StoredSample::plain(37, K, false), StoredSample::plain(37, K, true), StoredSample::q8(37, K)})
      for (std::int64_t M : {1, 3, 7, 8, 50}) {
        CAPTURE(M);
        for (auto [type, tolerance] : {std::pair{DType::F64, 1e-14}, {DType::F32, 1e-6}, {DType::BF16, 0x1p-7}}) {
          const Tensor x = random_tensor({M, K}, type, 1);
          Tensor expected = Tensor::empty({M, 37}, DType::F64);
          matmul({x.to(DType::F64)}, transposed(w.numbers_NK.to(DType::F64)), expected);
          check_close("y", product_of(x, w.matrix), expected, tolerance);
          check_close("reference y", in_reference([&] { return product_of(x, w.matrix); }), expected, tolerance);
          if (type != DType::BF16) continue;
          Tensor wide = Tensor::empty({M, 37});  // sums that are not rounded
          stored_product(x, w.matrix, wide);
          check_close("F32 y", wide, expected, 0x1p-8);
        }
      }
}

TEST_CASE("stored product: the same bits on any number of threads") {
  const StoredSample w = StoredSample::q8(300, 64);
  const int threads = thread_count();
  for (std::int64_t M : {2, 40}) {
    const Tensor x = random_tensor({M, 64}, DType::F32, 1), one = product_of(x, w.matrix);
    set_thread_count(3);
    check_close("y of 3 threads", product_of(x, w.matrix), one, 0);
    set_thread_count(threads);
  }
}

// The bound of F32 is of sums of |x w|, since k-quants are multiplied group by group. The reference decodes.
TEST_CASE(
    "stored product: blocks of every type; of few rows, the bits do not depend on how many they are or on threads") {
  using enum StoredType;
  const int threads = thread_count();
  for (StoredType type : {Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, Q2_K, Q3_K, IQ4_NL, IQ4_XS, MXFP4})
    for (std::int64_t K : {256, 768}) {
      CAPTURE(layout_of(type).name);
      const StoredSample w = StoredSample::blocks(type, 37, K);
      const Tensor x = random_tensor({7, K}, DType::F32, 1), all = product_of(x, w.matrix);
      for (std::int64_t m = 0; m < 7; ++m)
        for (std::int64_t n = 0; n < 37; ++n) {
          double sum = 0, magnitude = 0;
          for (std::int64_t k = 0; k < K; ++k) {
            const double term = x.item(m * K + k) * w.numbers_NK.item(n * K + k);
            sum += term;
            magnitude += std::abs(term);
          }
          CHECK(std::abs(all.item(m * 37 + n) - sum) <= 3e-7 * magnitude);
        }
      for (std::int64_t M : {1, 2, 5})
        check_close("fewer rows", product_of(x.rows(7 - M, 7), w.matrix), all.rows(7 - M, 7), 0);
      set_thread_count(3);
      check_close("y of 3 threads", product_of(x, w.matrix), all, 0);
      set_thread_count(threads);
    }
}

TEST_CASE("stored product: parts below each other, in any order of their rows, are one matrix") {
  const StoredSample a = StoredSample::q8(6, 32), b = StoredSample::plain(5, 32, false);
  StoredMatrix both{.rows = 11, .columns = 32, .parts = {a.matrix.parts[0], b.matrix.parts[0]}, .owner = nullptr};
  std::swap(both.parts[0].lines[0], both.parts[0].lines[4]);
  for (std::int64_t M : {1, 20}) {
    const Tensor x = random_tensor({M, 32}, DType::F32, 2), y = product_of(x, both);
    const Tensor of_a = product_of(x, a.matrix), of_b = product_of(x, b.matrix);
    for (std::int64_t m = 0; m < M; ++m) {
      for (std::int64_t n = 0; n < 6; ++n) {
        const std::int64_t from = n == 0 ? 4 : n == 4 ? 0 : n;
        CHECK(y.item(m * 11 + n) == of_a.item(m * 6 + from));
      }
      for (std::int64_t n = 0; n < 5; ++n) CHECK(y.item(m * 11 + 6 + n) == of_b.item(m * 5 + n));
    }
  }
}

TEST_CASE("stored product: rows in pieces have the bits of whole rows") {
  for (const StoredSample& w : {StoredSample::plain(37, 96, false), StoredSample::q8(37, 96)})
    for (std::int64_t pieces : {1, 3})
      for (DType type : {DType::F64, DType::F32, DType::BF16})
        for (std::int64_t M : {1, 3, 50}) {
          const Tensor x = random_tensor({M, 96}, type, 1);
          check_close("y", product_of(x, w.in_pieces(pieces)), product_of(x, w.matrix), 0);
        }
}

TEST_CASE("stored rows: those of the tokens, times a number") {
  StoredSample w = StoredSample::q8(9, 32);
  w.matrix.times = 3;
  const Tensor tokens = Tensor::from<std::int32_t>({2, 2}, {8, 0, 3, 8});
  for (DType type : {DType::F32, DType::F64}) {
    Tensor x = Tensor::empty({2, 2, 32}, type);
    stored_rows(tokens, w.matrix, x);
    for (std::int64_t n = 0; n < 4; ++n)
      for (std::int64_t k = 0; k < 32; ++k)
        CHECK(x.item(n * 32 + k) == 3 * w.numbers_NK.item(tokens.data<std::int32_t>()[n] * 32 + k));
  }
}

TEST_CASE("stored product: times a number, of few and of many rows") {
  StoredSample w = StoredSample::q8(9, 32);
  for (DType type : {DType::F32, DType::F64, DType::BF16})
    for (std::int64_t M : {1, 3, 20}) {
      const Tensor x = random_tensor({M, 32}, type, 1);
      w.matrix.times = 1;
      const Tensor once = product_of(x, w.matrix);
      w.matrix.times = 4;
      const Tensor four = product_of(x, w.matrix);
      for (std::int64_t n = 0; n < four.size(); ++n) CHECK(four.item(n) == 4 * once.item(n));
    }
}

TEST_CASE("stored product: every backend equals the double reference") {
  for (auto [N, K] : {std::pair{1, 32}, {37, 64}}) {
    const Tensor w = random_tensor({N, K}, DType::F32, 3);
    StoredPart part{.type = StoredType::F32, .rows = N, .lines = {}};
    for (std::int64_t n = 0; n < N; ++n)
      part.lines.push_back(reinterpret_cast<const unsigned char*>(w.data<float>() + n * K));
    const StoredMatrix matrix{.rows = N, .columns = K, .parts = {part}, .times = 2, .owner = nullptr};
    for (DType type : {DType::F32, DType::BF16})
      for (std::int64_t M : {1, 9}) {
        CAPTURE(M);
        Tensors given{random_tensor({M, K}, type, 1), random_tensor({M, N}, type, 2), Tensor::zeros({1, M}, DType::I32),
                      random_tensor({1, M, K}, DType::F32, 4)};
        check_backends("stored_product", given, [&](Tensors& t) {
          stored_product(t[0], matrix, t[1]);
          stored_rows(t[2], matrix, t[3]);
        });
      }
  }
}

TEST_CASE("stored product: refuses shapes and types that do not fit, with both") {
  const StoredSample w = StoredSample::q8(4, 32);
  Tensor x = Tensor::empty({2, 31}), y = Tensor::empty({2, 4}), tokens = Tensor::empty({1, 2}, DType::I32);
  check_refused([&] { stored_product(x, w.matrix, y); }, {"f32 (2, 31)", "stored (4, 32)", "f32 (2, 4)"});
  Tensor y_bf16 = Tensor::empty({2, 4}, DType::BF16), x_32 = Tensor::empty({2, 32});
  check_refused([&] { stored_product(x_32, w.matrix, y_bf16); }, {"f32 (2, 32)", "bf16 (2, 4)"});
  check_refused([&] { stored_rows(tokens, w.matrix, x); }, {"i32 (1, 2)", "stored (4, 32)", "f32 (2, 31)"});
}
