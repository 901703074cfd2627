// Products with memory-mapped weights, compared with products of tensors with the same values.
#include "engine/ops/stored_product/stored_product.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/ops/matmul/matmul.h"
#include "engine/precision.h"
#include "engine/stored/int8_portable.h"
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
  for (StoredType type : {Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, Q2_K, Q3_K, IQ4_NL, IQ4_XS, MXFP4, TQ1_0,
                          TQ2_0, Scaled4, ScaledF8})
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

namespace {

// x as int8_product.h rounds it, in plain loops.
std::vector<double> rounded_row(const Tensor& x, std::int64_t m, std::int64_t K) {
  std::vector<double> row(static_cast<std::size_t>(K));
  for (std::int64_t first = 0; first < K; first += 32) {
    float most = 0;
    for (std::int64_t k = first; k < first + 32; ++k) most = std::max(most, std::abs(x.data<float>()[m * K + k]));
    for (std::int64_t k = first; k < first + 32; ++k)
      row[static_cast<std::size_t>(k)] =
          static_cast<double>(std::nearbyint(x.data<float>()[m * K + k] * (127 / most))) *
          static_cast<double>(most / 127);
  }
  return row;
}

}  // namespace

TEST_CASE(
    "int8 product: inputs in 8 bits with decoded weights; both kernels, any number of rows and threads, same bits") {
  using enum StoredType;
  const int threads = thread_count();
  for (StoredType type : {Q8_0, Q4_0, Q4_1, Q4_K, Q6_K, MXFP4})
    for (std::int64_t K : {256, 768, 32, 96, 576})
      for (std::int64_t N : {1, 16, 37}) {
        if (K % layout_of(type).elements != 0) continue;
        CAPTURE(layout_of(type).name);
        CAPTURE(K);
        constexpr std::int64_t M = 19;
        const StoredSample w = StoredSample::blocks(type, N, K);
        const StoredPart& part = w.matrix.parts[0];
        const Tensor x = random_tensor({M, K}, DType::F32, 1);
        Tensor y = Tensor::empty({M, N}), other = Tensor::empty({M, N});
        int8_product(round_to_int8(type, x.data<float>(), M, K), part, 0, N, y.data<float>(), N);
        for (std::int64_t m = 0; m < M; ++m) {
          const std::vector<double> x_K = rounded_row(x, m, K);
          for (std::int64_t n = 0; n < N; ++n) {
            double sum = 0, magnitude = 0;
            for (std::int64_t k = 0; k < K; ++k) {
              const double term = x_K[static_cast<std::size_t>(k)] * w.numbers_NK.item(n * K + k);
              sum += term;
              magnitude += std::abs(term);
            }
            CHECK(std::abs(y.item(m * N + n) - sum) <= 1e-6 * magnitude);
          }
        }
        int8::product<int8::Portable>(round_to_int8(type, x.data<float>(), M, K), part, 0, N, other.data<float>(), N);
        check_close("portable", other, y, 0);
        set_thread_count(3);
        use_int8() = true;
        check_close("threads", product_of(x, w.matrix), y, 0);
        for (std::int64_t m : {0, 18})
          check_close("alone", product_of(x.rows(m, m + 1), w.matrix), y.rows(m, m + 1), 0);
        use_int8() = false;
        set_thread_count(threads);
      }
}

TEST_CASE("int8 product: NaN and infinite inputs make their row NaN, tiny ones are 0") {
  const StoredSample w = StoredSample::blocks(StoredType::Q4_K, 3, 256);
  Tensor x = random_tensor({4, 256}, DType::F32, 1);
  x.data<float>()[7] = std::numeric_limits<float>::quiet_NaN();
  x.data<float>()[256 + 40] = std::numeric_limits<float>::infinity();
  for (std::int64_t k = 0; k < 256; ++k) x.data<float>()[512 + k] = 1e-40f;
  use_int8() = true;
  const Tensor y = product_of(x, w.matrix);
  use_int8() = false;
  for (std::int64_t n = 0; n < 3; ++n) {
    CHECK(std::isnan(y.item(n)));
    CHECK(std::isnan(y.item(3 + n)));
    CHECK(y.item(6 + n) == 0);
    CHECK(std::isfinite(y.item(9 + n)));
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
