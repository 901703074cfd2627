// CPU backend: the norms of F32 rows, y in F32 or BF16.
#include "engine/ops/norm/norm.h"

#include <algorithm>
#include <cmath>

#include "engine/threads.h"

namespace sink::cpu {
namespace {

// The gradients of gain and bias are summed in blocks of this many rows and then over the blocks, in order: the same
// bits for any number of threads.
constexpr std::int64_t kNormRows = 64;

struct NormRow {
  float mean, r;
};

// Of RMSNorm the mean is the constant 0 and costs nothing.
template <NormKind kind, class Y>
[[gnu::noinline]] NormRow row_forward(const float* x_C, const float* gain_C, const float* bias_C, Y* y_C,
                                      std::int64_t C, double epsilon) {
  float sum = 0, sum_of_squares = 0;  // the latter of the differences: E[x^2] - mean^2 would cancel
  if constexpr (kind == NormKind::layer) {
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < C; ++c) sum += x_C[c];
  }
  const float mean = kind == NormKind::layer ? sum / float(C) : 0;
#pragma omp simd reduction(+ : sum_of_squares)
  for (std::int64_t c = 0; c < C; ++c) sum_of_squares += (x_C[c] - mean) * (x_C[c] - mean);
  const float r = 1 / std::sqrt(sum_of_squares / float(C) + float(epsilon));
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c)
    if constexpr (kind == NormKind::layer)
      store(y_C[c], (x_C[c] - mean) * r * gain_C[c] + bias_C[c]);
    else
      store(y_C[c], x_C[c] * r * gain_C[c]);
  return {mean, r};
}

// Forward was: y_c = x^_c g_c + b_c. Adds this row's share to dgain_C and dbias_C.
template <NormKind kind, class Y>
[[gnu::noinline]] void row_backward(const Y* dy_C, const float* x_C, const float* gain_C, NormRow saved, float* dx_C,
                                    bool accumulate, float* dgain_C, float* dbias_C, std::int64_t C) {
  constexpr bool layer = kind == NormKind::layer;
  // x^_c = xhat(c) late: RMSNorm multiplies sums by r instead of their terms.
  const float mean = layer ? saved.mean : 0, r = saved.r, late = layer ? 1 : r;
  auto xhat = [&](std::int64_t c) { return layer ? (x_C[c] - mean) * r : x_C[c]; };
  float sum = 0, projection = 0;  // sum_k dx^_k, sum_k dx^_k x^_k
#pragma omp simd reduction(+ : sum, projection)
  for (std::int64_t c = 0; c < C; ++c) {
    float dxhat = float(dy_C[c]) * gain_C[c];
    if constexpr (layer) sum += dxhat;
    projection += dxhat * xhat(c);
  }
  const float shift = layer ? sum / float(C) : 0, shrink = projection / float(C) * late * late;
  auto dx = [&](std::int64_t c) { return r * (float(dy_C[c]) * gain_C[c] - shift - xhat(c) * shrink); };
  if (accumulate) {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] += dx(c);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] = dx(c);
  }
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) {
    dgain_C[c] += float(dy_C[c]) * xhat(c) * late;
    if constexpr (layer) dbias_C[c] += float(dy_C[c]);
  }
}

// u_c = a_c + b_c; b is F32 or BF16.
void add_row(const Tensor& a, const Tensor& b, std::int64_t row, std::int64_t C, Tensor& u) {
  with_real<float, bf16>(b.dtype(), [&](auto zero) {
    const float* a_C = a.data<float>() + row * C;
    const auto* b_C = b.data<decltype(zero)>() + row * C;
    float* u_C = u.data<float>() + row * C;
    for (std::int64_t c = 0; c < C; ++c) u_C[c] = a_C[c] + b_C[c];
  });
}

// grad_C = the sum of shares[block][which], in the order of the blocks.
void add_shares(const Tensor& shares, std::int64_t which, Tensor& grad_C, bool accumulate) {
  const std::int64_t blocks = shares.dim(0), kinds = shares.dim(1), C = shares.dim(2);
  float* grad = grad_C.data<float>();
  if (!accumulate) std::fill_n(grad, C, 0.0f);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t c = 0; c < C; ++c) grad[c] += shares.data<float>()[(block * kinds + which) * C + c];
}

}  // namespace

// The sums a + b and the rounding of da are done row by row, while the row is in the cache.
template <NormKind kind>
void norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
          Tensor& mean, Tensor& r, double epsilon) {
  const std::int64_t C = gain_C.size();
  const Tensor& x = b.defined() ? u : a;
  const float* bias = kind == NormKind::layer ? bias_C.data<float>() : nullptr;
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    using Y = decltype(zero);
    parallel_chunks(r.size(), 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        if (b.defined()) add_row(a, b, row, C, u);
        NormRow saved =
            row_forward<kind>(x.data<float>() + row * C, gain_C.data<float>(), bias, y.data<Y>() + row * C, C, epsilon);
        if constexpr (kind == NormKind::layer) mean.data<float>()[row] = saved.mean;
        r.data<float>()[row] = saved.r;
      }
    });
  });
}

template <NormKind kind>
void norm_backward(const Tensor& dy, const Tensor& du, const Tensor& x, const Tensor& gain_C, const Tensor& mean,
                   const Tensor& r, Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain, Tensor& dbias_C,
                   bool accumulate_dbias) {
  constexpr bool layer = kind == NormKind::layer;
  const std::int64_t C = gain_C.size(), rows = r.size(), blocks = (rows + kNormRows - 1) / kNormRows;
  Tensor shares = Tensor::zeros({blocks, 1 + layer, C});  // of dgain and dbias
  with_real<float, bf16>(dy.dtype(), [&](auto zero) {
    using Y = decltype(zero);
    parallel_chunks(blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first * kNormRows; row < std::min(rows, last * kNormRows); ++row) {
        float* dgain = shares.data<float>() + row / kNormRows * (1 + layer) * C;
        float* da_C = da.data<float>() + row * C;
        if (du.defined() && !du.same_data_ptr(da)) std::copy_n(du.data<float>() + row * C, C, da_C);
        row_backward<kind>(dy.data<Y>() + row * C, x.data<float>() + row * C, gain_C.data<float>(),
                           {layer ? mean.data<float>()[row] : 0, r.data<float>()[row]}, da_C, du.defined(), dgain,
                           dgain + layer * C, C);
        if (!db.defined()) continue;
        bf16* db_C = db.data<bf16>() + row * C;
        for (std::int64_t c = 0; c < C; ++c) store(db_C[c], da_C[c]);
      }
    });
  });
  add_shares(shares, 0, dgain_C, accumulate_dgain);
  if constexpr (layer) add_shares(shares, 1, dbias_C, accumulate_dbias);
}

SINK_COMPILE_NORMS

}  // namespace sink::cpu
