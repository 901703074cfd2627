// Loops over elements with one thread per element, and over rows with one block per row.
#pragma once

#include <algorithm>

#include "engine/cuda/device.cuh"

namespace sink::cuda {

inline constexpr int kElementThreads = 256;

template <class F>
__global__ void elements_kernel(std::int64_t count, F f) {
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) f(i);
}

// Calls f(i) for every i in [0, count), in any order; f is a device function that captures by value.
template <class F>
void for_each_element(std::int64_t count, F f) {
  if (count > 0) launch({blocks_for(count, kElementThreads), kElementThreads}, elements_kernel<F>, count, f);
}

template <class F>
__global__ void rows_kernel(int columns, F f) {
  for (int c = static_cast<int>(threadIdx.x); c < columns; c += static_cast<int>(blockDim.x)) f(blockIdx.x, c);
}

// Calls f(row, column) for every row in [0, rows) and column in [0, columns), in any order and without a division.
template <class F>
void for_each_in_rows(std::int64_t rows, std::int64_t columns, F f) {
  if (rows == 0 || columns == 0) return;
  unsigned threads = blocks_for(columns, kWarp) * kWarp;
  launch({static_cast<unsigned>(rows), std::min<unsigned>(threads, kElementThreads)}, rows_kernel<F>,
         static_cast<int>(columns), f);
}

}  // namespace sink::cuda
