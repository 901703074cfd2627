// CUDA backend: the norms of F32 rows, y in F32 or BF16.
#include "engine/ops/norm/norm.h"

#include "engine/cuda/norm_rows.cuh"

namespace sink::cuda {
namespace {

// Of the rows that `given` has. Of RMSNorm the mean is the constant 0 and costs nothing.
template <NormKind kind, int N, class Given, class Y>
__global__ void __launch_bounds__(1024, 1)
    norm_kernel(std::int64_t rows, std::int64_t C, Given given, const float* gain_C, const float* bias_C, float epsilon,
                Y* y, float* mean, float* r) {
  constexpr bool layer = kind == NormKind::layer;
  std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  bool real = row < rows;  // others only wait where all threads do
  RowPart<N> x;
  float sum = 0, middle = 0, sum_of_squares = 0;  // the last of the differences: E[x^2] - mean^2 would cancel
  if (real)
    for_columns<N>(C, [&](int k, std::int64_t c) {
      x[k] = given.template take<N>(row * C + c);
      if constexpr (layer)
        for (int n = 0; n < N; ++n) sum += x[k][n];
    });
  if constexpr (layer) middle = row_sum(sum) / static_cast<float>(C);
  if (real)
    for_columns<N>(C, [&](int k, std::int64_t) {
      if constexpr (layer)
        for (int n = 0; n < N; ++n) x[k][n] -= middle;
      for (int n = 0; n < N; ++n) sum_of_squares += x[k][n] * x[k][n];
    });
  float inverse = 1 / sqrtf(row_sum(sum_of_squares) / static_cast<float>(C) + epsilon);
  if (!real) return;
  for_columns<N>(C, [&](int k, std::int64_t c) {
    auto gain = load_vector<N>(gain_C + c);
    if constexpr (layer) {
      auto bias = load_vector<N>(bias_C + c);
      for (int n = 0; n < N; ++n) x[k][n] = x[k][n] * inverse * gain[n] + bias[n];
    } else {
      for (int n = 0; n < N; ++n) x[k][n] = x[k][n] * inverse * gain[n];
    }
    store_vector(y + row * C + c, x[k]);
  });
  if (threadIdx.x > 0) return;
  if constexpr (layer) mean[row] = middle;
  r[row] = inverse;
}

// gains_C, biases_C: what every chunk of rows adds to dgain and dbias. x^ = xhat late, because RMSNorm multiplies sums
// by r instead of their terms.
template <NormKind kind, int N, class Y>
__global__ void __launch_bounds__(1024, 1)
    norm_backward_kernel(std::int64_t rows, std::int64_t rows_per_block, std::int64_t C, const Y* dy, const float* x,
                         const float* gain_C, const float* mean, const float* r, RowsGradient gradient, float* gains_C,
                         float* biases_C) {
  constexpr bool layer = kind == NormKind::layer;
  std::int64_t begin = blockIdx.x * rows_per_block, end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
  RowPart<N> dgain{}, dbias{}, xhat, dx;
  for (std::int64_t first = begin; first < end; first += blockDim.y) {
    std::int64_t row = first + threadIdx.y;
    bool real = row < end;  // others only wait where all threads do
    float middle = layer && real ? mean[row] : 0, inverse = real ? r[row] : 0, late = layer ? 1 : inverse;
    float sum = 0, projection = 0;  // sum_k dx^_k, sum_k dx^_k x^_k
    if (real)
      for_columns<N>(C, [&](int k, std::int64_t c) {
        xhat[k] = load_vector<N>(x + row * C + c);
        dx[k] = load_floats<N>(dy + row * C + c);
        auto gain = load_vector<N>(gain_C + c);
        for (int n = 0; n < N; ++n) {
          if constexpr (layer) {
            xhat[k][n] = (xhat[k][n] - middle) * inverse;
            dbias[k][n] += dx[k][n];
          }
          dgain[k][n] += dx[k][n] * xhat[k][n] * late;
          float dxhat = dx[k][n] * gain[n];
          if constexpr (layer) sum += dx[k][n] = dxhat;
          projection += dxhat * xhat[k][n];
        }
      });
    float shift = layer ? row_sum(sum) / static_cast<float>(C) : 0;
    float shrink = row_sum(projection) / static_cast<float>(C) * late * late;
    if (!real) continue;
    for_columns<N>(C, [&](int k, std::int64_t c) {
      auto gain = load_vector<N>(gain_C + c);
      for (int n = 0; n < N; ++n)
        dx[k][n] = inverse * ((layer ? dx[k][n] - shift : dx[k][n] * gain[n]) - xhat[k][n] * shrink);
      gradient.put(row * C + c, dx[k]);
    });
  }
  std::int64_t chunk = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  for_columns<N>(C, [&](int k, std::int64_t c) {
    store_vector(gains_C + chunk * C + c, dgain[k]);
    if constexpr (layer) store_vector(biases_C + chunk * C + c, dbias[k]);
  });
}

template <NormKind kind, class Y, class Given>
void forward(const Given& given, bool vectors, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean,
             Tensor& r, double epsilon) {
  std::int64_t rows = r.size(), C = gain_C.size();
  const float *gain = gain_C.device_data<float>(), *bias = data_or_null(bias_C);
  Y* y_data = y.device_data<Y>();
  with_vectors<kThreadColumns>(vectors && in_vectors<kThreadColumns>(C, gain, bias, y_data), [&](auto width) {
    launch(NormGrid(rows, C).forward, norm_kernel<kind, decltype(width)::value, Given, Y>, rows, C, given, gain, bias,
           epsilon, y_data, data_or_null(mean), r.device_data<float>());
  });
}

}  // namespace

template <NormKind kind>
void norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, const Tensor& bias_C, Tensor& u, Tensor& y,
          Tensor& mean, Tensor& r, double epsilon) {
  const std::int64_t C = gain_C.size();
  const float* a_data = a.device_data<float>();
  with_real<float, bf16>(y.dtype(), [&](auto zero) {
    using Y = decltype(zero);
    if (!b.defined())
      return forward<kind, Y>(RowsOf{a_data}, in_vectors<kThreadColumns>(C, a_data), gain_C, bias_C, y, mean, r,
                              epsilon);
    with_real<float, bf16>(b.dtype(), [&]<class B>(B) {
      SumsOf<B> given{a_data, b.device_data<B>(), u.device_data<float>()};
      forward<kind, Y>(given, in_vectors<kThreadColumns>(C, given.a, given.b, given.u), gain_C, bias_C, y, mean, r,
                       epsilon);
    });
  });
}

template <NormKind kind>
void norm_backward(const Tensor& dy, const Tensor& du, const Tensor& x, const Tensor& gain_C, const Tensor& mean,
                   const Tensor& r, Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain, Tensor& dbias_C,
                   bool accumulate_dbias) {
  std::int64_t rows = r.size(), C = gain_C.size();
  NormGrid grid(rows, C);
  Tensor gains = Tensor::empty({grid.chunks, C}, DType::F32, Device::cuda), biases;
  if constexpr (kind == NormKind::layer) biases = Tensor::empty_like(gains);
  const float *x_data = x.device_data<float>(), *gain = gain_C.device_data<float>();
  float *gains_C = gains.device_data<float>(), *biases_C = data_or_null(biases);
  RowsGradient gradient{data_or_null(du), da.device_data<float>(), data_or_null<bf16>(db)};
  with_real<float, bf16>(dy.dtype(), [&]<class Y>(Y) {
    const Y* dy_data = dy.device_data<Y>();
    bool vectors = in_vectors<kThreadColumns>(C, dy_data, x_data, gain, gains_C, biases_C) && gradient.in_vectors(C);
    with_vectors<kThreadColumns>(vectors, [&](auto width) {
      launch(grid.backward, norm_backward_kernel<kind, decltype(width)::value, Y>, rows, grid.rows_per_block, C,
             dy_data, x_data, gain, data_or_null(mean), r.device_data<float>(), gradient, gains_C, biases_C);
    });
  });
  add_chunks(gains, dgain_C.device_data<float>(), accumulate_dgain);
  if constexpr (kind == NormKind::layer) add_chunks(biases, dbias_C.device_data<float>(), accumulate_dbias);
}

SINK_COMPILE_NORMS

}  // namespace sink::cuda
