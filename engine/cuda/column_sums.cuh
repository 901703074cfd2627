// Sums over rows, for gradients of gains and biases: y_c = sum over rows of f(row, c), in an order that depends only on
// the sizes. Chunks of rows are summed in parallel, then their sums in order.
#pragma once

#include <algorithm>

#include "engine/cuda/instructions.cuh"

namespace sink::cuda {

inline constexpr int kColumnThreads = 128;

// partial[chunk, c] = sum of f over the rows of the chunk; a thread per column.
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

// A block has 32 columns; each of its warps sums every 32nd chunk, then the first warp sums over warps.
template <class Y>
__global__ void add_chunks_kernel(const float* partial, std::int64_t chunks, std::int64_t columns, bool accumulate,
                                  Y* y) {
  std::int64_t c = std::int64_t{blockIdx.x} * kWarp + threadIdx.x;
  float* of_warp = shared_memory<float>();
  float sum = 0;
  if (c < columns)
    for (std::int64_t chunk = threadIdx.y; chunk < chunks; chunk += kWarp) sum += partial[chunk * columns + c];
  of_warp[threadIdx.y * kWarp + threadIdx.x] = sum;
  sync_block();
  if (threadIdx.y > 0 || c >= columns) return;
  for (int warp = 1; warp < kWarp; ++warp) sum += of_warp[warp * kWarp + threadIdx.x];
  store(y[c], accumulate ? static_cast<float>(y[c]) + sum : sum);
}

// y_c = sum over chunks of partial (chunks, columns).
template <class Y>
void add_chunks(const Tensor& partial, Y* y, bool accumulate) {
  std::int64_t columns = partial.dim(1);
  Grid grid{blocks_for(columns, kWarp), {kWarp, kWarp}, kWarp * kWarp * sizeof(float)};
  launch(grid, add_chunks_kernel<Y>, partial.device_data<float>(), partial.dim(0), columns, accumulate, y);
}

// y_c = sum over rows of f(row, c), or y_c += with `accumulate`; f is a device function that captures by value.
template <class F, class Y>
void column_sums(std::int64_t rows, std::int64_t columns, F f, Y* y, bool accumulate) {
  if (columns == 0) return;
  std::int64_t rows_per_chunk = std::max<std::int64_t>(32, (rows + 127) / 128);
  std::int64_t chunks = std::max<std::int64_t>(1, (rows + rows_per_chunk - 1) / rows_per_chunk);
  Tensor partial = Tensor::empty({chunks, columns}, DType::F32, Device::cuda);
  dim3 blocks(blocks_for(columns, kColumnThreads), static_cast<unsigned>(chunks));
  launch({blocks, kColumnThreads}, partial_column_sums_kernel<F>, rows, columns, rows_per_chunk, f,
         partial.device_data<float>());
  add_chunks(partial, y, accumulate);
}

}  // namespace sink::cuda
