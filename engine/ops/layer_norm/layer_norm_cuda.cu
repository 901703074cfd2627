// CUDA backend: layer norm of F32 rows, y in F32 or BF16.
#include "engine/ops/layer_norm/layer_norm.h"

#include "engine/cuda/norm_rows.cuh"

namespace sink::cuda {
namespace {

// Of the rows that `given` has.
template <int N, class Given, class Y>
__global__ void __launch_bounds__(1024, 1)
    layer_norm_kernel(std::int64_t rows, std::int64_t C, Given given, const float* gain_C, const float* bias_C,
                      float epsilon, Y* y, float* mean, float* r) {
  std::int64_t row = row_of_threads(std::int64_t{blockIdx.x} * blockDim.y);
  RowPart<N> x;
  float sum = 0, sum_of_squares = 0;  // the latter of the differences: E[x^2] - mean^2 would cancel
  if (row < rows)
    for_columns<N>(C, [&](int k, std::int64_t c) {
      x[k] = given.template take<N>(row * C + c);
      for (int n = 0; n < N; ++n) sum += x[k][n];
    });
  float middle = row_sum(sum) / static_cast<float>(C);
  if (row < rows)
    for_columns<N>(C, [&](int k, std::int64_t) {
      for (int n = 0; n < N; ++n) x[k][n] -= middle;
      for (int n = 0; n < N; ++n) sum_of_squares += x[k][n] * x[k][n];
    });
  float inverse = 1 / sqrtf(row_sum(sum_of_squares) / static_cast<float>(C) + epsilon);
  if (row >= rows) return;
  for_columns<N>(C, [&](int k, std::int64_t c) {
    auto gain = load_vector<N>(gain_C + c), bias = load_vector<N>(bias_C + c);
    for (int n = 0; n < N; ++n) x[k][n] = x[k][n] * inverse * gain[n] + bias[n];
    store_vector(y + row * C + c, x[k]);
  });
  if (threadIdx.x > 0) return;
  mean[row] = middle;
  r[row] = inverse;
}

// gains_C, biases_C: what every chunk of rows adds to dgain and dbias.
template <int N, class Y>
__global__ void __launch_bounds__(1024, 1)
    layer_norm_backward_kernel(std::int64_t rows, std::int64_t rows_per_block, std::int64_t C, const Y* dy,
                               const float* x, const float* gain_C, const float* mean, const float* r,
                               RowsGradient gradient, float* gains_C, float* biases_C) {
  std::int64_t begin = blockIdx.x * rows_per_block, end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
  RowPart<N> dgain{}, dbias{}, xhat, dx;
  for (std::int64_t first = begin; first < end; first += blockDim.y) {
    std::int64_t row = row_of_threads(first);
    bool real = row < end;  // others only wait where all threads do
    float middle = real ? mean[row] : 0, inverse = real ? r[row] : 0;
    float sum = 0, projection = 0;  // sum_k dx^_k, sum_k dx^_k x^_k
    if (real)
      for_columns<N>(C, [&](int k, std::int64_t c) {
        xhat[k] = load_vector<N>(x + row * C + c);
        dx[k] = load_floats<N>(dy + row * C + c);
        auto gain = load_vector<N>(gain_C + c);
        for (int n = 0; n < N; ++n) {
          xhat[k][n] = (xhat[k][n] - middle) * inverse;
          dbias[k][n] += dx[k][n];
          dgain[k][n] += dx[k][n] * xhat[k][n];
          dx[k][n] *= gain[n];
          sum += dx[k][n];
          projection += dx[k][n] * xhat[k][n];
        }
      });
    float shift = row_sum(sum) / static_cast<float>(C), shrink = row_sum(projection) / static_cast<float>(C);
    if (!real) continue;
    for_columns<N>(C, [&](int k, std::int64_t c) {
      for (int n = 0; n < N; ++n) dx[k][n] = inverse * (dx[k][n] - shift - xhat[k][n] * shrink);
      gradient.put(row * C + c, dx[k]);
    });
  }
  for_columns<N>(C, [&](int k, std::int64_t c) {
    store_vector(gains_C + chunk_of_threads() * C + c, dgain[k]);
    store_vector(biases_C + chunk_of_threads() * C + c, dbias[k]);
  });
}

template <class Y, class Given>
void forward(const Given& given, bool vectors, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean,
             Tensor& r, double epsilon) {
  std::int64_t rows = r.size(), C = gain_C.size();
  const float *gain = gain_C.device_data<float>(), *bias = bias_C.device_data<float>();
  Y* y_data = y.device_data<Y>();
  with_vectors<kThreadColumns>(vectors && in_vectors<kThreadColumns>(C, gain, bias, y_data), [&](auto width) {
    launch(NormGrid(rows, C).forward, layer_norm_kernel<decltype(width)::value, Given, Y>, rows, C, given, gain, bias,
           epsilon, y_data, mean.device_data<float>(), r.device_data<float>());
  });
}

template <class Y>
void backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
              const RowsGradient& gradient, const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C) {
  std::int64_t rows = r.size(), C = gain_C.size();
  NormGrid grid(rows, C);
  Tensor gains = Tensor::empty({grid.chunks, C}, DType::F32, Device::cuda), biases = Tensor::empty_like(gains);
  const Y* dy_data = dy.device_data<Y>();
  const float *x_data = x.device_data<float>(), *gain = gain_C.device_data<float>();
  float *gains_C = gains.device_data<float>(), *biases_C = biases.device_data<float>();
  bool vectors = in_vectors<kThreadColumns>(C, dy_data, x_data, gain, gains_C, biases_C) && gradient.in_vectors(C);
  with_vectors<kThreadColumns>(vectors, [&](auto width) {
    launch(grid.backward, layer_norm_backward_kernel<decltype(width)::value, Y>, rows, grid.rows_per_block, C, dy_data,
           x_data, gain, mean.device_data<float>(), r.device_data<float>(), gradient, gains_C, biases_C);
  });
  add_chunks(gains, dgain_C.grad.device_data<float>(), dgain_C.accumulate);
  add_chunks(biases, dbias_C.grad.device_data<float>(), dbias_C.accumulate);
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r,
                double epsilon) {
  RowsOf given{x.device_data<float>()};
  bool vectors = in_vectors<kThreadColumns>(gain_C.size(), given.x);
  with_real<float, bf16>(
      y.dtype(), [&](auto zero) { forward<decltype(zero)>(given, vectors, gain_C, bias_C, y, mean, r, epsilon); });
}

void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C) {
  float* dx_data = dx.grad.device_data<float>();
  RowsGradient gradient{dx.accumulate ? dx_data : nullptr, dx_data, nullptr};
  with_real<float, bf16>(
      dy.dtype(), [&](auto zero) { backward<decltype(zero)>(dy, x, gain_C, mean, r, gradient, dgain_C, dbias_C); });
}

void add_layer_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
                    Tensor& mean, Tensor& r, double epsilon) {
  with_real<float, bf16>(b.dtype(), [&](auto b_zero) {
    SumsOf<decltype(b_zero)> given{a.device_data<float>(), b.device_data<decltype(b_zero)>(), u.device_data<float>()};
    bool vectors = in_vectors<kThreadColumns>(gain_C.size(), given.a, given.b, given.u);
    with_real<float, bf16>(
        y.dtype(), [&](auto zero) { forward<decltype(zero)>(given, vectors, gain_C, bias_C, y, mean, r, epsilon); });
  });
}

void add_layer_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C,
                             const Tensor& mean, const Tensor& r, Tensor& da, Tensor& db,
                             const LayerNormGradient& dgain_C, const LayerNormGradient& dbias_C) {
  RowsGradient gradient = gradient_of_sum(du, da, db);
  with_real<float, bf16>(
      dy.dtype(), [&](auto zero) { backward<decltype(zero)>(dy, u, gain_C, mean, r, gradient, dgain_C, dbias_C); });
}

}  // namespace sink::cuda
