// Cross-entropy with a memory-mapped unembedding, compared with the product and the cross-entropy of its values.
#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/cross_entropy/cross_entropy.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/stored_product/stored_product.h"
#include "engine/precision.h"
#include "tests/support/check_refused.h"
#include "tests/support/compare.h"
#include "tests/support/every_backend.h"
#include "tests/support/stored_sample.h"
#include "tests/support/with_reference.h"

using namespace sink;

namespace {

Tensor targets_of(std::int64_t N, std::int64_t V) {
  Tensor targets_N = Tensor::empty({N}, DType::I32);
  for (std::int64_t n = 0; n < N; ++n)
    targets_N.data<std::int32_t>()[n] = n % 5 == 3 ? -1 : static_cast<std::int32_t>(n * 977 % V);
  return targets_N;
}

Tensor losses_of(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, double cap = 0) {
  Tensor loss_N = Tensor::empty({x_NC.dim(0)}, accumulate_type(x_NC.dtype()));
  stored_cross_entropy(x_NC, w_VC, targets_N, cap, loss_N);
  return loss_N;
}

// From all logits at once, in double.
Tensor expected_losses(const Tensor& x_NC, const StoredSample& w, const Tensor& targets_N, double cap = 0) {
  Tensor logits_NV = Tensor::empty({x_NC.dim(0), w.matrix.rows}, DType::F64);
  Tensor loss_N = Tensor::empty({x_NC.dim(0)}, DType::F64);
  matmul({x_NC.to(DType::F64)}, transposed(w.numbers_NK.to(DType::F64)), logits_NV);
  for (std::int64_t i = 0; cap > 0 && i < logits_NV.size(); ++i)
    logits_NV.data<double>()[i] = cap * std::tanh(logits_NV.item(i) / cap);
  cross_entropy(logits_NV, targets_N, loss_N);
  return loss_N;
}

}  // namespace

TEST_CASE("stored cross-entropy: that of all logits, over tiles of words and blocks of rows, with ignored targets") {
  // 40,000 rows of 32 elements are three tiles; 600 rows of logits are two blocks.
  for (auto [N, V, C] : {std::tuple{1, 5, 32}, {9, 700, 32}, {4, 40000, 32}, {600, 70, 64}}) {
    const Tensor targets_N = targets_of(N, V);
    for (const StoredSample& w : {StoredSample::plain(V, C, false), StoredSample::q8(V, C)}) {
      CAPTURE(V);
      for (auto [type, tolerance] : {std::pair{DType::F64, 1e-13}, {DType::F32, 2e-6}, {DType::BF16, 0x1p-7}}) {
        const Tensor x_NC = random_tensor({N, C}, type, 1);
        const Tensor expected = expected_losses(x_NC, w, targets_N);
        check_close("loss", losses_of(x_NC, w.matrix, targets_N), expected, tolerance);
        check_close("capped loss", losses_of(x_NC, w.matrix, targets_N, 0.7), expected_losses(x_NC, w, targets_N, 0.7),
                    tolerance);
        if (V < 40000)
          check_close("reference loss", in_reference([&] { return losses_of(x_NC, w.matrix, targets_N); }), expected,
                      tolerance);
      }
    }
  }
}

TEST_CASE("stored cross-entropy: logits far apart neither overflow nor vanish; a NaN is not lost") {
  const StoredSample w = StoredSample::q8(64, 32);
  const Tensor targets_N = targets_of(3, 64);
  Tensor x_NC = random_tensor({3, 32}, DType::F32, 1);
  for (std::int64_t i = 0; i < x_NC.size(); ++i) x_NC.data<float>()[i] *= 1e4f;
  const Tensor expected = expected_losses(x_NC, w, targets_N);
  check_close("loss", losses_of(x_NC, w.matrix, targets_N), expected, 1e-5);
  x_NC.data<float>()[40] = std::nanf("");
  const Tensor losses = losses_of(x_NC, w.matrix, targets_N);
  CHECK(std::isnan(losses.item(1)));
  CHECK(std::isfinite(losses.item(0)));
}

TEST_CASE("stored cross-entropy: with --precision int8 that of the logits in integers, over blocks of words and rows") {
  for (auto [N, V, C] : {std::tuple{1, 5, 32}, {600, 70, 64}, {3, 9000, 32}})
    for (double cap : {0.0, 0.7}) {
      CAPTURE(V);
      const Tensor targets_N = targets_of(N, V), x_NC = random_tensor({N, C}, DType::F32, 1);
      const StoredSample w = StoredSample::q8(V, C);
      Tensor logits_NV = Tensor::empty({N, V}), loss_N = Tensor::empty({N}, DType::F64);
      use_int8() = true;
      stored_product(x_NC, w.matrix, logits_NV);
      const Tensor found = losses_of(x_NC, w.matrix, targets_N, cap);
      use_int8() = false;
      Tensor wide_NV = logits_NV.to(DType::F64);
      for (std::int64_t i = 0; cap > 0 && i < wide_NV.size(); ++i)
        wide_NV.data<double>()[i] = cap * std::tanh(wide_NV.item(i) / cap);
      cross_entropy(wide_NV, targets_N, loss_N);
      check_close("loss", found, loss_N, 2e-6);
      const Tensor exact = expected_losses(x_NC, w, targets_N, cap);
      bool is_another = false;  // than in f32
      for (std::int64_t n = 0; n < N; ++n) is_another = is_another || std::abs(exact.item(n) - found.item(n)) > 1e-5;
      CHECK(is_another);
    }
}

TEST_CASE("stored cross-entropy: every backend equals the double reference") {
  for (auto [V, C] : {std::pair{5, 32}, {70, 64}}) {
    const StoredSample w = StoredSample::q8(V, C);
    for (DType type : {DType::F32, DType::BF16}) {
      Tensors given{random_tensor({70, C}, type, 1), targets_of(70, V), random_tensor({70}, DType::F32, 2)};
      for (double cap : {0.0, 0.7})
        check_backends("stored_cross_entropy", given,
                       [&](Tensors& t) { stored_cross_entropy(t[0], w.matrix, t[1], cap, t[2]); });
    }
  }
}

TEST_CASE("stored cross-entropy: refuses shapes and types that do not fit, with both") {
  const StoredSample w = StoredSample::q8(4, 32);
  const Tensor targets_N = targets_of(2, 4);
  Tensor loss_N = Tensor::empty({2}), loss_bf16_N = Tensor::empty({2}, DType::BF16);
  check_refused(
      [&] {
        stored_cross_entropy(Tensor::empty({2, 31}), w.matrix, targets_N, 0, loss_N);
      },
      {"f32 (2, 31)", "stored (4, 32)", "f32 (2)"});
  check_refused(
      [&] {
        stored_cross_entropy(Tensor::empty({3, 32}), w.matrix, targets_N, 0, loss_N);
      },
      {"f32 (3, 32)", "i32 (2)"});
  check_refused(
      [&] {
        stored_cross_entropy(Tensor::empty({2, 32}), w.matrix, targets_N, 0, loss_bf16_N);
      },
      {"bf16 (2)"});
}
