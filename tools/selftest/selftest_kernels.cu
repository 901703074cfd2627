#include "tools/selftest/selftest_kernels.h"

#include <string>
#include <type_traits>

#include "engine/cuda/approx_instructions.cuh"
#include "engine/cuda/matrix_tiles.cuh"

namespace sink::selftest {
namespace {

using namespace cuda;

constexpr int kThreads = 1024, kCopyThreads = 128, kChunks = 64, kTileRows = 64;

__device__ std::int64_t thread_of_grid() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__global__ void shuffle_kernel(const float* x, int mask, float* y) {
  std::int64_t i = thread_of_grid();
  y[i] = shuffle_xor(x[i], mask);
}

__global__ void pass_round_kernel(int rounds, bool of_block, int offset, float* y) {
  float* shared = shared_memory<float>() + offset;
  unsigned t = threadIdx.x, n = of_block ? blockDim.x : kWarp;
  unsigned first = t / n * n, next = first + (t - first + 1) % n;
  float mine = static_cast<float>(t - first);
  for (int round = 0; round < rounds; ++round) {
    shared[t] = mine;
    of_block ? sync_block() : sync_warp();
    mine = shared[next];
    of_block ? sync_block() : sync_warp();
  }
  y[thread_of_grid()] = mine;
}

// Every step waits for its own copies; those of the next kStages - 1 steps stay in flight.
template <int kStages>
__global__ void copy_in_steps_kernel(const float* x, std::int64_t steps, std::int64_t n_chunks, float* y) {
  float* shared = shared_memory<float>();
  auto t = static_cast<std::int64_t>(threadIdx.x), other = kCopyThreads - 1 - t;
  auto start_copy = [&](std::int64_t step) {
    std::int64_t chunk = step * kCopyThreads + t;
    if (step < steps)
      cp_async_16(shared + (step % kStages * kCopyThreads + t) * 4, x + (chunk < n_chunks ? chunk * 4 : 0),
                  chunk < n_chunks);
    cp_async_commit_group();
  };
  for (std::int64_t step = 0; step < kStages - 1; ++step) start_copy(step);
  for (std::int64_t step = 0; step < steps; ++step) {
    start_copy(step + kStages - 1);
    cp_async_wait_group<kStages - 1>();
    sync_block();
    for (int n = 0; n < 4; ++n)
      y[(step * kCopyThreads + other) * 4 + n] = shared[(step % kStages * kCopyThreads + other) * 4 + n];
    sync_block();
  }
  cp_async_wait_group<0>();
}

__global__ void load_registers_kernel(const std::int32_t* chunks, bool transposed, std::int32_t* registers) {
  auto* shared = shared_memory<std::uint16_t>();
  for (unsigned i = threadIdx.x; i < kChunks * 8; i += kWarp) shared[i] = static_cast<std::uint16_t>(i);
  sync_warp();
  std::int64_t at = thread_of_grid();
  const std::uint16_t* row = shared + chunks[at] * 8;
  Bf16Pair got[4];
  transposed ? ldmatrix_x4_trans(got, row) : ldmatrix_x4(got, row);
  for (int r = 0; r < 4; ++r) registers[at * 4 + r] = static_cast<std::int32_t>(got[r]);
}

__global__ void multiply_registers_kernel(const std::int32_t* left, const std::int32_t* right, float* sums) {
  std::int64_t at = thread_of_grid();
  Bf16Pair a[4], b[2];
  float c[4];
  for (int r = 0; r < 4; ++r) a[r] = static_cast<Bf16Pair>(left[at * 4 + r]);
  for (int r = 0; r < 2; ++r) b[r] = static_cast<Bf16Pair>(right[at * 2 + r]);
  for (int r = 0; r < 4; ++r) c[r] = sums[at * 4 + r];
  mma_m16n8k16(c, a, b);
  for (int r = 0; r < 4; ++r) sums[at * 4 + r] = c[r];
}

__global__ void pack_pairs_kernel(const float* x, std::int64_t count, std::int32_t* pairs) {
  std::int64_t i = thread_of_grid();
  if (i < count) pairs[i] = static_cast<std::int32_t>(pack_bf16x2(x[2 * i], x[2 * i + 1]));
}

__global__ void approximate_kernel(Approximation which, const float* x, std::int64_t count, float* y) {
  std::int64_t i = thread_of_grid();
  if (i >= count) return;
  y[i] = which == Approximation::exp2   ? exp2_approx(x[i])
         : which == Approximation::log2 ? log2_approx(x[i])
                                        : reciprocal_approx(x[i]);
}

// Each of the four warps loads 16 rows, 16 columns at a time.
template <int kWidth>
__global__ void load_tile_kernel(const bf16* x, int n_rows, Order order, TileLoad load, std::int32_t* registers) {
  SharedTile<kTileRows, kWidth> tile{0};
  int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_of_thread();
  auto plain = [](int row, int column) { return shared_memory<bf16>() + row * kWidth + column; };
  if (order == Order::swizzled) tile.copy(x, n_rows, kWidth);
  for (int i = static_cast<int>(threadIdx.x); order == Order::plain && i < kTileRows * kWidth / 8; i += 4 * kWarp) {
    int row = i / (kWidth / 8), column = i % (kWidth / 8) * 8;
    cp_async_16(plain(row, column), x + (row < n_rows ? row * kWidth + column : 0), row < n_rows);
  }
  cp_async_commit_group();
  cp_async_wait_group<0>();
  sync_block();
  for (int m = 0; m < kWidth / 16; ++m) {
    int row = warp * 16, column = m * 16;
    Bf16Pair got[4];
    if (order == Order::plain)
      ldmatrix_x4(got, plain(row + lane % 16, column + lane / 16 * 8));
    else if (load == TileLoad::left)
      tile.load_left(got, lane, row, column);
    else if (load == TileLoad::rows)
      tile.load_rows(got, lane, row, column);
    else
      tile.load_columns(got, lane, row, column);
    for (int r = 0; r < 4; ++r)
      registers[((warp * (kWidth / 16) + m) * kWarp + lane) * 4 + r] = static_cast<std::int32_t>(got[r]);
  }
}

template <int kWidth>
__global__ void swizzled_columns_kernel(std::int32_t* columns) {
  int row = static_cast<int>(blockIdx.x), chunk = static_cast<int>(threadIdx.x);
  int at = SharedTile<kTileRows, kWidth>::chunk_bytes(row, chunk * 8) / 2;
  columns[thread_of_grid()] = static_cast<std::int32_t>((at - row * kWidth) / 8);
}

// Calls f with `width` as a constant.
template <class F>
void with_width(std::int64_t width, F&& f) {
  if (width == 32) return f(std::integral_constant<int, 32>());
  if (width == 64) return f(std::integral_constant<int, 64>());
  if (width == 96) return f(std::integral_constant<int, 96>());
  SINK_CHECK(width == 128, "selftest", "expected rows of 32, 64, 96 or 128 values, got " + std::to_string(width));
  f(std::integral_constant<int, 128>());
}

unsigned warps_of(const Tensor& x) { return static_cast<unsigned>(x.dim(0)); }

}  // namespace

void shuffle_lanes(const Tensor& x, int mask, Tensor& y) {
  launch({warps_of(x), kWarp}, shuffle_kernel, x.device_data<float>(), mask, y.device_data<float>());
}

void pass_round_block(int rounds, Tensor& y, int offset) {
  std::size_t shared_bytes = (kThreads + static_cast<std::size_t>(offset)) * sizeof(float);
  launch({warps_of(y), kThreads, shared_bytes}, pass_round_kernel, rounds, true, offset, y.device_data<float>());
}

void pass_round_warps(int rounds, Tensor& y) {
  launch({warps_of(y), kThreads, kThreads * sizeof(float)}, pass_round_kernel, rounds, false, 0,
         y.device_data<float>());
}

void copy_in_steps(const Tensor& x, int stages, std::int64_t n_chunks, Tensor& y) {
  std::int64_t steps = x.size() / (kCopyThreads * 4);
  Grid grid{1, kCopyThreads, static_cast<std::size_t>(stages) * kCopyThreads * 16};
  auto run = [&](auto kernel) {
    launch(grid, kernel, x.device_data<float>(), steps, n_chunks, y.device_data<float>());
  };
  SINK_CHECK(stages >= 1 && stages <= 3, "copy_in_steps", "expected 1 to 3 stages, got " + std::to_string(stages));
  run(stages == 1 ? copy_in_steps_kernel<1> : stages == 2 ? copy_in_steps_kernel<2> : copy_in_steps_kernel<3>);
}

void load_registers(const Tensor& chunks_WL, bool transposed, Tensor& registers) {
  launch({warps_of(chunks_WL), kWarp, kChunks * 16}, load_registers_kernel, chunks_WL.device_data<std::int32_t>(),
         transposed, registers.device_data<std::int32_t>());
}

void multiply_registers(const Tensor& left, const Tensor& right, Tensor& sums) {
  launch({warps_of(left), kWarp}, multiply_registers_kernel, left.device_data<std::int32_t>(),
         right.device_data<std::int32_t>(), sums.device_data<float>());
}

void pack_pairs(const Tensor& x, Tensor& pairs) {
  launch({blocks_for(pairs.size(), kThreads), kThreads}, pack_pairs_kernel, x.device_data<float>(), pairs.size(),
         pairs.device_data<std::int32_t>());
}

void approximate(Approximation which, const Tensor& x, Tensor& y) {
  launch({blocks_for(x.size(), kThreads), kThreads}, approximate_kernel, which, x.device_data<float>(), x.size(),
         y.device_data<float>());
}

void load_tile(const Tensor& x_RD, int n_rows, Order order, TileLoad load, Tensor& registers) {
  with_width(x_RD.dim(1), [&](auto width) {
    launch({1, 4 * kWarp, x_RD.bytes()}, load_tile_kernel<width.value>, x_RD.device_data<bf16>(), n_rows, order, load,
           registers.device_data<std::int32_t>());
  });
}

void swizzled_columns(Tensor& columns_RC) {
  auto chunks = static_cast<unsigned>(columns_RC.dim(1));
  with_width(8 * columns_RC.dim(1), [&](auto width) {
    launch({kTileRows, chunks}, swizzled_columns_kernel<width.value>, columns_RC.device_data<std::int32_t>());
  });
}

}  // namespace sink::selftest
