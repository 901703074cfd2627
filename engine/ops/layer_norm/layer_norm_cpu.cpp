// CPU backend: layer norm of F32 rows, y in F32 or BF16.
#include "engine/ops/layer_norm/layer_norm.h"

#include <cmath>

#include "engine/ops/residual_row.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

// The gradients of gain and bias are summed in blocks of this many rows and then over the blocks, in order: the same
// bits for any number of threads.
constexpr std::int64_t kLayerNormRows = 64;

struct RowNumbers {
  float mean, r;
};

template <class Y>
[[gnu::noinline]] RowNumbers row_forward(const float* x_C, const float* gain_C, const float* bias_C, Y* y_C,
                                         std::int64_t C, double epsilon) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < C; ++c) sum += x_C[c];
  float mean = sum / float(C);
  float sum_of_squares = 0;  // of the differences: E[x^2] - mean^2 would cancel
#pragma omp simd reduction(+ : sum_of_squares)
  for (std::int64_t c = 0; c < C; ++c) sum_of_squares += (x_C[c] - mean) * (x_C[c] - mean);
  RowNumbers saved{mean, 1 / std::sqrt(sum_of_squares / float(C) + float(epsilon))};
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) store(y_C[c], (x_C[c] - saved.mean) * saved.r * gain_C[c] + bias_C[c]);
  return saved;
}

// Forward was: y_c = x^_c g_c + b_c. Adds this row's share to dgain_C and dbias_C.
template <class Y>
[[gnu::noinline]] void row_backward(const Y* dy_C, const float* x_C, const float* gain_C, RowNumbers saved, float* dx_C,
                                    bool accumulate, float* dgain_C, float* dbias_C, std::int64_t C) {
  float mean = saved.mean, r = saved.r;
  float sum = 0, projection = 0;  // sum_k dx^_k, sum_k dx^_k x^_k
#pragma omp simd reduction(+ : sum, projection)
  for (std::int64_t c = 0; c < C; ++c) {
    float dxhat = float(dy_C[c]) * gain_C[c];
    sum += dxhat;
    projection += dxhat * ((x_C[c] - mean) * r);
  }
  float shift = sum / float(C), shrink = projection / float(C);
  if (accumulate) {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c)
      dx_C[c] += r * (float(dy_C[c]) * gain_C[c] - shift - (x_C[c] - mean) * r * shrink);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c)
      dx_C[c] = r * (float(dy_C[c]) * gain_C[c] - shift - (x_C[c] - mean) * r * shrink);
  }
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) {
    dgain_C[c] += float(dy_C[c]) * ((x_C[c] - mean) * r);
    dbias_C[c] += float(dy_C[c]);
  }
}

// before(row) makes row `row` of x.
template <class Before>
void forward(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
             double epsilon, const Before& before) {
  std::int64_t C = gain_C.size(), rows = r.size();
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    using Y = decltype(zero);
    parallel_chunks(rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        before(row);
        RowNumbers saved = row_forward(x.data<float>() + row * C, gain_C.data<float>(), bias_C.data<float>(),
                                       y.data<Y>() + row * C, C, epsilon);
        mean.data<float>()[row] = saved.mean;
        r.data<float>()[row] = saved.r;
      }
    });
  });
}

// before(row) makes what row `row` of dx is added to; after(row) reads it.
template <class Before, class After>
void backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
              const LayerNormGradient& dx, const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C,
              const Before& before, const After& after) {
  std::int64_t C = gain_C.size(), rows = r.size();
  std::int64_t blocks = (rows + kLayerNormRows - 1) / kLayerNormRows;
  Tensor partial = Tensor::zeros({std::max<std::int64_t>(blocks, 1), 2, C});  // gain's share, bias's share
  with_real<float, bf16>(dy.dtype(), [&](auto zero) {
    using Y = decltype(zero);
    parallel_chunks(blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first * kLayerNormRows; row < std::min(rows, last * kLayerNormRows); ++row) {
        float* share = partial.data<float>() + row / kLayerNormRows * 2 * C;
        before(row);
        row_backward(dy.data<Y>() + row * C, x.data<float>() + row * C, gain_C.data<float>(),
                     RowNumbers{mean.data<float>()[row], r.data<float>()[row]}, dx.grad.data<float>() + row * C,
                     dx.accumulate, share, share + C, C);
        after(row);
      }
    });
  });
  auto add_shares = [&](const LayerNormGradient& to, std::int64_t which) {
    float* grad = to.grad.data<float>();
    if (!to.accumulate) std::fill_n(grad, C, 0.0f);
    for (std::int64_t block = 0; block < blocks; ++block)
      for (std::int64_t c = 0; c < C; ++c) grad[c] += partial.data<float>()[(block * 2 + which) * C + c];
  };
  add_shares(dgain_C, 0);
  add_shares(dbias_C, 1);
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon) {
  forward(x, gain_C, bias_C, y, mean, r, epsilon, kNoOp);
}

void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C) {
  backward(dy, x, gain_C, mean, r, dx, dgain_C, dbias_C, kNoOp, kNoOp);
}

void add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
                    Tensor& mean, Tensor& r, double epsilon) {
  std::int64_t C = gain_C.size();
  forward(u, gain_C, bias_C, y, mean, r, epsilon, [&](std::int64_t row) { add_row(a, b, row, C, u); });
}

void add_layer_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C,
                             const Tensor& mean, const Tensor& r, Tensor& da, Tensor& db,
                             const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C) {
  std::int64_t C = gain_C.size();
  backward(
      dy, u, gain_C, mean, r, {da, du.defined()}, dgain_C, dbias_C,
      [&](std::int64_t row) { init_gradient_row(du, row, C, da); },
      [&](std::int64_t row) { round_gradient_row(da, row, C, db); });
}

}  // namespace sink::cpu
