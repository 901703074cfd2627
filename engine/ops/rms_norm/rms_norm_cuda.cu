// CUDA backend: the root-mean-square norm of F32 rows, y in F32 or BF16.
#include "engine/ops/rms_norm/rms_norm.h"

#include "engine/cuda/norm_rows.cuh"

namespace sink::cuda {
namespace {

// Of the rows that `given` has.
template <int N, class Given, class Y>
__global__ void __launch_bounds__(1024, 1) rms_norm_kernel(std::int64_t rows, std::int64_t C, Given given,
                                                           const float* gain_C, float epsilon, Y* y, float* r) {
  std::int64_t row = row_of_threads(std::int64_t{blockIdx.x} * blockDim.y);
  RowPart<N> x;
  float sum_of_squares = 0;
  if (row < rows)
    for_columns<N>(C, [&](int k, std::int64_t c) {
      x[k] = given.template take<N>(row * C + c);
      for (int n = 0; n < N; ++n) sum_of_squares += x[k][n] * x[k][n];
    });
  float mean_square = row_sum(sum_of_squares) / static_cast<float>(C);
  if (row >= rows) return;
  float inverse = 1 / sqrtf(mean_square + epsilon);
  for_columns<N>(C, [&](int k, std::int64_t c) {
    auto gain = load_vector<N>(gain_C + c);
    for (int n = 0; n < N; ++n) x[k][n] = x[k][n] * inverse * gain[n];
    store_vector(y + row * C + c, x[k]);
  });
  if (threadIdx.x == 0) r[row] = inverse;
}

// chunks_C: what every chunk of rows adds to dgain.
template <int N, class Y>
__global__ void __launch_bounds__(1024, 1)
    rms_norm_backward_kernel(std::int64_t rows, std::int64_t rows_per_block, std::int64_t C, const Y* dy,
                             const float* x_data, const float* gain_C, const float* r, RowsGradient gradient,
                             float* chunks_C) {
  std::int64_t begin = blockIdx.x * rows_per_block, end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
  RowPart<N> dgain{}, x, dx;
  for (std::int64_t first = begin; first < end; first += blockDim.y) {
    std::int64_t row = row_of_threads(first);
    bool real = row < end;  // others only wait where all threads do
    float projection = 0;   // sum_k dx^_k x_k
    if (real)
      for_columns<N>(C, [&](int k, std::int64_t c) {
        x[k] = load_vector<N>(x_data + row * C + c);
        dx[k] = load_floats<N>(dy + row * C + c);
        auto gain = load_vector<N>(gain_C + c);
        for (int n = 0; n < N; ++n) projection += dx[k][n] * gain[n] * x[k][n];
      });
    projection = row_sum(projection);
    if (!real) continue;
    float inverse = r[row], shrink = projection / static_cast<float>(C) * inverse * inverse;
    for_columns<N>(C, [&](int k, std::int64_t c) {
      auto gain = load_vector<N>(gain_C + c);
      for (int n = 0; n < N; ++n) {
        dgain[k][n] += dx[k][n] * x[k][n] * inverse;
        dx[k][n] = inverse * (dx[k][n] * gain[n] - x[k][n] * shrink);
      }
      gradient.put(row * C + c, dx[k]);
    });
  }
  for_columns<N>(C, [&](int k, std::int64_t c) { store_vector(chunks_C + chunk_of_threads() * C + c, dgain[k]); });
}

template <class Y, class Given>
void forward(const Given& given, bool vectors, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  std::int64_t rows = r.size(), C = gain_C.size();
  const float* gain = gain_C.device_data<float>();
  Y* y_data = y.device_data<Y>();
  with_vectors<kThreadColumns>(vectors && in_vectors<kThreadColumns>(C, gain, y_data), [&](auto width) {
    launch(NormGrid(rows, C).forward, rms_norm_kernel<decltype(width)::value, Given, Y>, rows, C, given, gain, epsilon,
           y_data, r.device_data<float>());
  });
}

template <class Y>
void backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, const RowsGradient& gradient,
              Tensor& dgain_C, bool accumulate_dgain) {
  std::int64_t rows = r.size(), C = gain_C.size();
  NormGrid grid(rows, C);
  Tensor chunks = Tensor::empty({grid.chunks, C}, DType::F32, Device::cuda);
  const Y* dy_data = dy.device_data<Y>();
  const float *x_data = x.device_data<float>(), *gain = gain_C.device_data<float>();
  float* chunks_C = chunks.device_data<float>();
  bool vectors = in_vectors<kThreadColumns>(C, dy_data, x_data, gain, chunks_C) && gradient.in_vectors(C);
  with_vectors<kThreadColumns>(vectors, [&](auto width) {
    launch(grid.backward, rms_norm_backward_kernel<decltype(width)::value, Y>, rows, grid.rows_per_block, C, dy_data,
           x_data, gain, r.device_data<float>(), gradient, chunks_C);
  });
  add_chunks(chunks, dgain_C.device_data<float>(), accumulate_dgain);
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r, double epsilon) {
  RowsOf given{x.device_data<float>()};
  bool vectors = in_vectors<kThreadColumns>(gain_C.size(), given.x);
  with_real<float, bf16>(y.dtype(), [&](auto zero) { forward<decltype(zero)>(given, vectors, gain_C, y, r, epsilon); });
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  float* dx_data = dx.device_data<float>();
  RowsGradient gradient{accumulate_dx ? dx_data : nullptr, dx_data, nullptr};
  with_real<float, bf16>(
      dy.dtype(), [&](auto zero) { backward<decltype(zero)>(dy, x, gain_C, r, gradient, dgain_C, accumulate_dgain); });
}

void add_rms_norm(const Tensor& a, const Tensor& b, const Tensor& gain_C, Tensor& u, Tensor& y, Tensor& r,
                  double epsilon) {
  with_real<float, bf16>(b.dtype(), [&](auto b_zero) {
    SumsOf<decltype(b_zero)> given{a.device_data<float>(), b.device_data<decltype(b_zero)>(), u.device_data<float>()};
    bool vectors = in_vectors<kThreadColumns>(gain_C.size(), given.a, given.b, given.u);
    with_real<float, bf16>(y.dtype(),
                           [&](auto zero) { forward<decltype(zero)>(given, vectors, gain_C, y, r, epsilon); });
  });
}

void add_rms_norm_backward(const Tensor& dy, const Tensor& du, const Tensor& u, const Tensor& gain_C, const Tensor& r,
                           Tensor& da, Tensor& db, Tensor& dgain_C, bool accumulate_dgain) {
  RowsGradient gradient = gradient_of_sum(du, da, db);
  with_real<float, bf16>(
      dy.dtype(), [&](auto zero) { backward<decltype(zero)>(dy, u, gain_C, r, gradient, dgain_C, accumulate_dgain); });
}

}  // namespace sink::cuda
