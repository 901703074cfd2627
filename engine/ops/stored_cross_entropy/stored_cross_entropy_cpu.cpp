// CPU backend: x of F32 and BF16, on all threads.
#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"

#include <cmath>

#include "engine/ops/activation/activation.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/stored_product/stored_tiles.h"
#include "engine/precision.h"
#include "engine/stored/int8_product.h"
#include "engine/threads.h"
#include "engine/vector_math.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kScoredRows = 512;  // of x, whose logits of a tile stay in the cache

constexpr std::int64_t kInt8Words = 1024;  // of W at a time, with --precision int8

constexpr std::int64_t kSummed = 256;

// What a row knows after some of its logits: the largest, the sum of exp(logit - m), and the target's.
struct TileRow {
  float m = 0, S = 0, of_target = 0;

  [[gnu::noinline]] void add(const float* logits_R, std::int64_t R) {
    float larger = S > 0 ? m : logits_R[0];
#pragma omp simd reduction(max : larger)
    for (std::int64_t r = 0; r < R; ++r) larger = logits_R[r] > larger ? logits_R[r] : larger;
    float sum = 0;  // of sums of a few, so that small terms are not lost in a large sum
    for (std::int64_t first = 0; first < R; first += kSummed) {
      const std::int64_t end = std::min(R, first + kSummed);
      float part = 0;
#pragma omp simd reduction(+ : part)
      for (std::int64_t r = first; r < end; ++r) part += exp_fast(logits_R[r] - larger);
      sum += part;
    }
    S = (S > 0 ? S * exp_fast(m - larger) : S) + sum;  // a NaN stays one
    m = larger;
  }
};

}  // namespace

void stored_cross_entropy(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, double cap,
                          Tensor& loss_N) {
  const std::int64_t N = x_NC.dim(0);
  const auto* targets = targets_N.data<std::int32_t>();
  std::vector<TileRow> rows(static_cast<std::size_t>(N));
  Tensor logits_NR;
  // fill(logits of rows [first, first + count) of x and R words, first).
  auto add_words = [&](std::int64_t first_word, std::int64_t R, auto&& fill) {
    for (std::int64_t first = 0; first < N; first += kScoredRows) {
      const std::int64_t count = std::min(kScoredRows, N - first);
      if (!logits_NR.defined() || logits_NR.dim(1) != R || logits_NR.dim(0) < count)
        logits_NR = Tensor::empty({count, R});
      Tensor logits = logits_NR.rows(0, count);
      fill(logits, first);
      if (cap > 0) sink::activation(logits, logits, SoftCap{cap});
      parallel_chunks(count, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const float* logits_R = logits.data<float>() + n * R;
          TileRow& row = rows[static_cast<std::size_t>(first + n)];
          row.add(logits_R, R);
          const std::int64_t r = targets[first + n] - first_word;
          if (0 <= r && r < R) row.of_target = logits_R[r];
        }
      });
    }
  };
  if (use_int8() && x_NC.dtype() == DType::F32 &&
      std::ranges::all_of(w_VC.parts, [](const StoredPart& part) { return has_int8(part); })) {
    std::int64_t first_word = 0;
    for (const StoredPart& part : w_VC.parts) {
      std::vector<Int8Input> rounded;
      for (std::int64_t first = 0; first < N; first += kScoredRows)
        rounded.push_back(round_to_int8(part.type, x_NC.data<float>() + first * w_VC.columns,
                                        std::min(kScoredRows, N - first), w_VC.columns));
      for (std::int64_t word = 0; word < part.rows; word += kInt8Words) {
        const std::int64_t R = std::min(kInt8Words, part.rows - word);
        add_words(first_word + word, R, [&](Tensor& logits, std::int64_t first) {
          int8_product(rounded[static_cast<std::size_t>(first / kScoredRows)], part, word, R, logits.data<float>(), R);
        });
      }
      first_word += part.rows;
    }
  } else {
    for_each_tile(w_VC, x_NC.dtype(), [&](const Tensor& tile_RC, std::int64_t first_word) {
      add_words(first_word, tile_RC.dim(0), [&](Tensor& logits, std::int64_t first) {
        sink::matmul({x_NC.rows(first, first + logits.dim(0))}, transposed(tile_RC), logits);
      });
    });
  }
  for (std::int64_t n = 0; n < N; ++n) {
    const TileRow& row = rows[static_cast<std::size_t>(n)];
    loss_N.data<float>()[n] = targets[n] < 0 ? 0 : row.m + std::log(row.S) - row.of_target;
  }
}

}  // namespace sink::cpu
