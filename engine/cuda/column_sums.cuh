// Sums over rows, as gradients of gains and biases are: y_c = sum over rows of f(row, c), in an order that depends on
// the sizes alone. Chunks of rows are summed apart, side by side, and then one after the other.
#pragma once

#include <algorithm>

#include "engine/cuda/device.cuh"
#include "engine/tensor.h"

namespace sink::cuda {

inline constexpr int kColumnThreads = 128;

// partial[chunk, c] = sum of f over the rows of the chunk; a column has a thread.
template <class F>
__global__ void partial_column_sums_kernel(std::int64_t rows, std::int64_t columns, std::int64_t rows_per_chunk, F f,
                                           float* partial) {
  std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  std::int64_t first = blockIdx.y * rows_per_chunk, last = first + rows_per_chunk;
  float sum = 0;
  for (std::int64_t row = first; row < (last < rows ? last : rows); ++row) sum += f(row, c);
  partial[blockIdx.y * columns + c] = sum;
}

template <class Y>
__global__ void add_chunks_kernel(const float* partial, std::int64_t chunks, std::int64_t columns, bool accumulate,
                                  Y* y) {
  std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float sum = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * columns + c];
  store(y[c], accumulate ? static_cast<float>(y[c]) + sum : sum);
}

// y_c of `columns` numbers; f(row, c) is a device function that captures by value.
template <class F, class Y>
void column_sums(std::int64_t rows, std::int64_t columns, F f, Y* y, bool accumulate) {
  if (columns == 0) return;
  std::int64_t rows_per_chunk = std::max<std::int64_t>(32, (rows + 127) / 128);
  std::int64_t chunks = std::max<std::int64_t>(1, (rows + rows_per_chunk - 1) / rows_per_chunk);
  Tensor partial = Tensor::empty({chunks, columns}, DType::F32, Device::cuda);
  dim3 blocks(blocks_for(columns, kColumnThreads), static_cast<unsigned>(chunks));
  launch({blocks, kColumnThreads}, partial_column_sums_kernel<F>, rows, columns, rows_per_chunk, f,
         partial.device_data<float>());
  launch({blocks_for(columns, kColumnThreads), kColumnThreads}, add_chunks_kernel<Y>, partial.device_data<float>(),
         chunks, columns, accumulate, y);
}

}  // namespace sink::cuda
