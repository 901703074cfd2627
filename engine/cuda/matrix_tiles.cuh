// Tiles of bf16 rows in shared memory, and a warp's products of them on the tensor cores.
//
// A warp has 16 rows of a product in the registers of its lanes, in pieces of 8 columns: x[n][e] is in row
// lane / 4 + e / 2 * 8 and column 8 n + lane % 4 * 2 + e % 2 (engine/cuda/matrix_instructions.cuh).
#pragma once

#include "engine/cuda/matrix_instructions.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/dtype.h"

namespace sink::cuda {

template <int kColumns>
using WarpSums16 = float[kColumns / 8][4];
template <int kColumns>
using WarpPairs16 = Bf16Pair[kColumns / 16][4];  // the same as a left operand

__device__ inline int row_of_sum(int e) { return lane_of_thread() / 4 + e / 2 * 8; }
__device__ inline int column_of_sum(int n, int e) { return 8 * n + lane_of_thread() % 4 * 2 + e % 2; }

// f(n, e) of every number that a lane has of 16 rows.
template <int kColumns, class F>
__device__ void for_each_sum(F f) {
  SINK_UNROLL
  for (int n = 0; n < kColumns / 8; ++n) {
    SINK_UNROLL
    for (int e = 0; e < 4; ++e) f(n, e);
  }
}

// Over the four lanes that have one row of a product.
__device__ inline float quad_sum(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}
__device__ inline float quad_max(float x) {
  float other = shuffle_xor(x, 1);
  x = other > x ? other : x;
  other = shuffle_xor(x, 2);
  return other > x ? other : x;
}

// kRows rows of kWidth numbers. A row's chunks of 16 bytes lie in an order of its own, so that one chunk of eight
// neighbouring rows lies in eight different groups of banks.
template <int kRows, int kWidth>
struct SharedTile {
  using Number = bf16;
  static constexpr int kChunks = kWidth / 8;
  static constexpr std::size_t kBytes = std::size_t{2} * kRows * kWidth;
  static_assert(kWidth % 32 == 0);

  int first;  // of its numbers, in shared memory

  // The number in shared memory that a chunk begins with.
  __device__ int place(int row, int column) const {
    int chunk = column / 8 ^ (kChunks % 8 == 0 ? row & 7 : row >> 1 & 3);
    return first + row * kWidth + chunk * 8;
  }
  // The chunk that many columns, a multiple of 16, behind a row's first or second one, which is at `place`. One
  // instruction: the order of chunks worked out for each of them would be kept in a register each, for the whole loop.
  __device__ static bf16* along(int place, int columns) {
    constexpr int kSwapped = kChunks % 8 == 0 ? 7 * 8 : 3 * 8;
    return shared_memory<bf16>() + (place ^ (columns & kSwapped)) + (columns & ~kSwapped);
  }

  // Begins to copy rows of `width` numbers, a multiple of 8, which lie one behind the other: the first `count` of them,
  // then zeros. All threads of the block, 128; each has one chunk of every kStep-th row.
  __device__ void copy(const bf16* rows, int count, std::int64_t width) const {
    constexpr int kStep = 128 / kChunks / 8 * 8;  // a multiple of 8: the chunks' order is the same in all its rows
    static_assert(kRows % kStep == 0, "a tile has as many rows as the threads copy in whole steps");
    int row = static_cast<int>(threadIdx.x) / kChunks, column = static_cast<int>(threadIdx.x) % kChunks * 8;
    if (row >= kStep) return;
    if (column >= width) count = 0;
    const bf16* from = rows + row * width + column;
    bf16* to = shared_memory<bf16>() + place(row, column);
    SINK_UNROLL
    for (int n = 0; n < kRows / kStep; ++n, from += kStep * width)
      copy_async_16(to + n * kStep * kWidth, from, row + n * kStep < count);
  }

  // A left operand: 16 rows from `row`, 16 columns from `column`.
  __device__ void load_left(Bf16Pair (&x)[4], int row, int column) const {
    int lane = lane_of_thread();
    load_matrices(x, along(place(row + lane % 16, lane / 16 * 8), column));
  }
  // Two right operands whose columns are 16 rows from `row`: for products with rows of the tile.
  __device__ void load_rows(Bf16Pair (&x)[4], int row, int column) const {
    int lane = lane_of_thread();
    load_matrices(x, along(place(row + lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8), column));
  }
  // Two right operands whose rows are 16 rows from `row`: for weighted sums of rows of the tile.
  __device__ void load_columns(Bf16Pair (&x)[4], int row, int column) const {
    int lane = lane_of_thread();
    load_matrices_transposed(x, along(place(row + lane % 16, lane / 16 * 8), column));
  }
};

// Two tiles of a kind, one behind the other.
template <class Tile>
struct DoubleBuffer {
  using Number = typename Tile::Number;
  static constexpr std::size_t kBytes = 2 * Tile::kBytes;
  static constexpr int kNumbers = static_cast<int>(Tile::kBytes / sizeof(Number));

  int first;

  __device__ Tile operator[](int stage) const { return {first + stage * kNumbers}; }
};

// Gives tiles their places in the block's shared memory, one behind the other.
class SharedMemoryAllocator {
 public:
  template <class Tile>
  __device__ void place(Tile& tile) {
    static_assert(Tile::kBytes % 128 == 0, "SharedTile::along takes the next tile's rows to begin at such multiples");
    tile.first = next_ / static_cast<int>(sizeof(typename Tile::Number));
    next_ += static_cast<int>(Tile::kBytes);
  }

 private:
  int next_ = 0;  // byte
};

// dots[m] = rows of `left` from row + 16 m times all rows of `right`.
template <int kM, int kLeft, int kRight, int kWidth>
__device__ void row_dots(WarpSums16<kRight> (&dots)[kM], const SharedTile<kLeft, kWidth>& left, int row,
                         const SharedTile<kRight, kWidth>& right) {
  SINK_UNROLL
  for (int m = 0; m < kM; ++m) for_each_sum<kRight>([&](int n, int e) { dots[m][n][e] = 0; });
  SINK_UNROLL
  for (int k = 0; k < kWidth; k += 16) {
    Bf16Pair a[kM][4];
    SINK_UNROLL
    for (int m = 0; m < kM; ++m) left.load_left(a[m], row + 16 * m, k);
    SINK_UNROLL
    for (int n = 0; n < kRight / 8; n += 2) {
      Bf16Pair b[4];
      right.load_rows(b, 8 * n, k);
      SINK_UNROLL
      for (int m = 0; m < kM; ++m) {
        add_product(dots[m][n], a[m], b);
        add_product(dots[m][n + 1], a[m], b + 2);
      }
    }
  }
}

// *sums[m] += weights[m] times the rows of the tile.
template <int kM, int kRows, int kWidth>
__device__ void add_weighted_rows(WarpSums16<kWidth>* const (&sums)[kM], const WarpPairs16<kRows> (&weights)[kM],
                                  const SharedTile<kRows, kWidth>& tile) {
  SINK_UNROLL
  for (int k = 0; k < kRows / 16; ++k) {
    SINK_UNROLL
    for (int n = 0; n < kWidth / 8; n += 2) {
      Bf16Pair b[4];
      tile.load_columns(b, 16 * k, 8 * n);
      SINK_UNROLL
      for (int m = 0; m < kM; ++m) {
        add_product((*sums[m])[n], weights[m][k], b);
        add_product((*sums[m])[n + 1], weights[m][k], b + 2);
      }
    }
  }
}

// Rounds a product to a left operand of the next.
template <int kColumns>
__device__ void to_pairs(const WarpSums16<kColumns>& x, WarpPairs16<kColumns>& pairs) {
  SINK_UNROLL
  for (int n = 0; n < kColumns / 8; ++n) {
    pairs[n / 2][n % 2 * 2] = pair_of(x[n][0], x[n][1]);
    pairs[n / 2][n % 2 * 2 + 1] = pair_of(x[n][2], x[n][3]);
  }
}

// use(n, stage) for n < count, each after load(n, stage), which begins copies to that stage's shared memory. Stages 0
// and 1 take turns: one is filled while the other is used. All threads of the block; copies begun before belong to the
// first load.
template <class Load, class Use>
__device__ void with_two_stages(int count, Load load, Use use) {
  if (count > 0) load(0, 0);
  commit_copies();
  for (int n = 0; n < count; ++n) {
    if (n + 1 < count) load(n + 1, (n + 1) % 2);
    commit_copies();
    wait_for_copies<1>();
    sync_block();
    use(n, n % 2);
    sync_block();
  }
}

}  // namespace sink::cuda
