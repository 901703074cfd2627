// CPU backend: x of F32 and BF16, on all threads.
#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"

#include <cmath>

#include "engine/ops/activation/activation.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/stored_product/stored_tiles.h"
#include "engine/threads.h"
#include "engine/vector_math.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kScoredRows = 512;  // of x, whose logits of a tile stay in the cache

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
  for_each_tile(w_VC, x_NC.dtype(), [&](const Tensor& tile_RC, std::int64_t first_word) {
    const std::int64_t R = tile_RC.dim(0);
    for (std::int64_t first = 0; first < N; first += kScoredRows) {
      const std::int64_t count = std::min(kScoredRows, N - first);
      if (!logits_NR.defined() || logits_NR.dim(1) != R || logits_NR.dim(0) < count)
        logits_NR = Tensor::empty({count, R});
      Tensor logits = logits_NR.rows(0, count);
      sink::matmul({x_NC.rows(first, first + count)}, transposed(tile_RC), logits);
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
  });
  for (std::int64_t n = 0; n < N; ++n) {
    const TileRow& row = rows[static_cast<std::size_t>(n)];
    loss_N.data<float>()[n] = targets[n] < 0 ? 0 : row.m + std::log(row.S) - row.of_target;
  }
}

}  // namespace sink::cpu
