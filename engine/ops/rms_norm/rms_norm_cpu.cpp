// CPU backend: the root-mean-square norm of F32 rows, y in F32 or BF16.
#include "engine/ops/rms_norm/rms_norm.h"

#include <cmath>

#include "engine/ops/residual_row.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

// The gain's gradient is summed in blocks of this many rows and then over the blocks, in order: the same bits for any
// number of threads.
constexpr std::int64_t kRmsNormRows = 64;

// Returns r, the inverse root mean square.
template <class Y>
[[gnu::noinline]] float row_forward(const float* x_C, const float* gain_C, Y* y_C, std::int64_t C, double epsilon) {
  float sum_of_squares = 0;
#pragma omp simd reduction(+ : sum_of_squares)
  for (std::int64_t c = 0; c < C; ++c) sum_of_squares += x_C[c] * x_C[c];
  float mean_square = sum_of_squares / float(C);
  float r = 1 / std::sqrt(mean_square + float(epsilon));
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) store(y_C[c], x_C[c] * r * gain_C[c]);
  return r;
}

// Forward was: y_c = x_c r g_c. Adds this row's share to dgain_C.
template <class Y>
[[gnu::noinline]] void row_backward(const Y* dy_C, const float* x_C, const float* gain_C, float r, float* dx_C,
                                    bool accumulate, float* dgain_C, std::int64_t C) {
  float projection = 0;  // sum_k dx^_k x_k
#pragma omp simd reduction(+ : projection)
  for (std::int64_t c = 0; c < C; ++c) projection += float(dy_C[c]) * gain_C[c] * x_C[c];
  float shrink = projection / float(C) * r * r;
  if (accumulate) {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] += r * (float(dy_C[c]) * gain_C[c] - x_C[c] * shrink);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < C; ++c) dx_C[c] = r * (float(dy_C[c]) * gain_C[c] - x_C[c] * shrink);
  }
#pragma omp simd
  for (std::int64_t c = 0; c < C; ++c) dgain_C[c] += float(dy_C[c]) * x_C[c] * r;
}

// before(row) makes row `row` of x.
template <class Before>
void forward(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon, const Before& before) {
  std::int64_t C = gain_C.size(), rows = r.size();
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    using Y = decltype(zero);
    parallel_chunks(rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        before(row);
        r.data<float>()[row] =
            row_forward(x.data<float>() + row * C, gain_C.data<float>(), y.data<Y>() + row * C, C, epsilon);
      }
    });
  });
}

// before(row) makes what row `row` of dx is added to; after(row) reads it.
template <class Before, class After>
void backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx, bool accumulate_dx,
              Tensor& dgain_C, bool accumulate_dgain, const Before& before, const After& after) {
  std::int64_t C = gain_C.size(), rows = r.size();
  std::int64_t blocks = (rows + kRmsNormRows - 1) / kRmsNormRows;
  Tensor partial = Tensor::zeros({std::max<std::int64_t>(blocks, 1), C});
  with_real<float, bf16>(dy.dtype(), [&](auto zero) {
    using Y = decltype(zero);
    parallel_chunks(blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first * kRmsNormRows; row < std::min(rows, last * kRmsNormRows); ++row) {
        before(row);
        row_backward(dy.data<Y>() + row * C, x.data<float>() + row * C, gain_C.data<float>(), r.data<float>()[row],
                     dx.data<float>() + row * C, accumulate_dx, partial.data<float>() + row / kRmsNormRows * C, C);
        after(row);
      }
    });
  });
  float* dgain = dgain_C.data<float>();
  if (!accumulate_dgain) std::fill_n(dgain, C, 0.0f);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t c = 0; c < C; ++c) dgain[c] += partial.data<float>()[block * C + c];
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  forward(x, gain_C, y, r, epsilon, kNoOp);
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  backward(dy, x, gain_C, r, dx, accumulate_dx, dgain_C, accumulate_dgain, kNoOp, kNoOp);
}

void add_rms_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, Tensor& u, Tensor& y, Tensor& r,
                  double epsilon) {
  std::int64_t C = gain_C.size();
  forward(u, gain_C, y, r, epsilon, [&](std::int64_t row) { add_row(a, b, row, C, u); });
}

void add_rms_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C, const Tensor& r,
                           Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain) {
  std::int64_t C = gain_C.size();
  backward(
      dy, u, gain_C, r, da, du.defined(), dgain_C, accumulate_dgain,
      [&](std::int64_t row) { init_gradient_row(du, row, C, da); },
      [&](std::int64_t row) { round_gradient_row(da, row, C, db); });
}

}  // namespace sink::cpu
