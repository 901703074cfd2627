// What the norms share: threads with the same threadIdx.y process one row of the tensor and hold it in registers, so
// that every element is read once. threadIdx.x is the position in the row.
#pragma once

#include "engine/cuda/column_sums.cuh"
#include "engine/cuda/vectors.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {

inline constexpr std::int64_t kMostColumns = 8192;  // 8 for each of 1024 threads
inline constexpr int kThreadColumns = 8;            // one vector, or 8 single elements

// A thread's elements of one row, in vectors of N.
template <int N>
struct RowPart {
  Vector<float, N> at[kThreadColumns / N];
  __device__ Vector<float, N>& operator[](int k) { return at[k]; }
};
// Calls f(k, c) for each vector k of this thread, which begins at column c of C.
template <int N, class F>
__device__ void for_columns(std::int64_t C, F&& f) {
  for (int k = 0; k < kThreadColumns / N; ++k) {
    std::int64_t c = (std::int64_t{k} * blockDim.x + threadIdx.x) * N;
    if (c < C) f(k, c);
  }
}

// The sum of x over the threads of a row, with the same bits in all of them: within warps, then over warps in order.
// All threads of the block call it; shared memory holds a float per warp.
__device__ inline float row_sum(float x) {
  x = warp_sum(x);
  if (blockDim.x == kWarp) return x;
  float* of_warp = shared_memory<float>() + threadIdx.y * (blockDim.x / kWarp);
  if (lane_of_thread() == 0) of_warp[threadIdx.x / kWarp] = x;
  sync_block();
  float sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) sum += of_warp[warp];
  sync_block();
  return sum;
}

// The input rows of a norm: a tensor x, or a sum a + b, which is also stored to u.
struct RowsOf {
  const float* x;
  template <int N>
  __device__ Vector<float, N> take(std::int64_t i) const {
    return load_vector<N>(x + i);
  }
};
template <class B>
struct SumsOf {
  const float* a;
  const B* b;
  float* u;
  template <int N>
  __device__ Vector<float, N> take(std::int64_t i) const {
    auto sum = load_vector<N>(a + i), b_N = load_floats<N>(b + i);
    for (int n = 0; n < N; ++n) sum[n] += b_N[n];
    store_vector(u + i, sum);
    return sum;
  }
};

// Stores the gradient of the rows: dx = base + value, where base is null for 0 and may be dx; and dx rounded, unless
// `rounded` is null.
struct RowsGradient {
  const float* base;
  float* dx;
  bf16* rounded;
  template <int N>
  __device__ void put(std::int64_t i, Vector<float, N>& value) const {
    if (base) {
      auto base_N = load_vector<N>(base + i);
      for (int n = 0; n < N; ++n) value[n] += base_N[n];
    }
    store_vector(dx + i, value);
    if (rounded) store_vector(rounded + i, value);
  }
  bool in_vectors(std::int64_t C) const { return cuda::in_vectors<kThreadColumns>(C, base, dx, rounded); }
};

// The launch configurations for `rows` rows of C columns. In the forward pass a block has one row per threadIdx.y; in
// the backward pass several, whose terms of the gradients of gain and bias it sums: a chunk per threadIdx.y.
struct NormGrid {
  Grid forward, backward;
  std::int64_t rows_per_block;  // backward
  std::int64_t chunks;

  NormGrid(std::int64_t rows, std::int64_t C) {
    SINK_CHECK(C <= kMostColumns, "norm",
               "norms on the CUDA device: expected rows of at most " + std::to_string(kMostColumns) + " columns, got " +
                   std::to_string(C) + "; a narrower model fits (--d-model), and --device cpu has no limit",
               Exit::usage);
    unsigned warps = blocks_for(C, kThreadColumns * kWarp), together = warps < 8 ? 8 / warps : 1;
    constexpr std::int64_t kMostBlocks = 512;
    std::int64_t per_block = (rows + kMostBlocks - 1) / kMostBlocks;
    rows_per_block = std::max<std::int64_t>(1, (per_block + together - 1) / together) * together;
    dim3 threads(warps * kWarp, together);
    std::size_t shared_bytes = warps * together * sizeof(float);
    forward = {blocks_for(rows, together), threads, shared_bytes};
    backward = {blocks_for(rows, rows_per_block), threads, shared_bytes};
    chunks = std::int64_t{backward.blocks.x} * together;
  }
};

}  // namespace sink::cuda
