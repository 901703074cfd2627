// Tiles of bf16 rows in shared memory, and products of such tiles on the tensor cores.
//
// A warp holds 16 rows of a product as accumulator fragments: a lane's x[n][e] is the element in row fragment_row(e)
// and column fragment_column(n, e) (engine/cuda/matrix_instructions.cuh).
#pragma once

#include "engine/cuda/matrix_instructions.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/dtype.h"

namespace sink::cuda {

template <int kColumns>
using AccumulatorFragment = float[kColumns / 8][4];
template <int kColumns>
using OperandFragment = Bf16Pair[kColumns / 16][4];  // the same elements, rounded to a left operand

__device__ inline int fragment_row(int e) { return lane_of_thread() / 4 + e / 2 * 8; }
__device__ inline int fragment_column(int n, int e) { return 8 * n + lane_of_thread() % 4 * 2 + e % 2; }

// Calls f(n, e) for every element of a lane's fragment.
template <int kColumns, class F>
__device__ void for_each_accumulator(F f) {
  SINK_UNROLL
  for (int n = 0; n < kColumns / 8; ++n) {
    SINK_UNROLL
    for (int e = 0; e < 4; ++e) f(n, e);
  }
}

// Reductions over a quad: the four lanes that hold one row of a fragment.
__device__ inline float quad_sum(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}
__device__ inline float quad_max(float x) {
  x = fmaxf(x, shuffle_xor(x, 1));
  return fmaxf(x, shuffle_xor(x, 2));
}
__device__ inline bool is_quad_leader() { return lane_of_thread() % 4 == 0; }

// A tile of kRows rows of kWidth values. The chunks of 16 bytes of each row are swizzled: the n-th chunks of eight
// neighbouring rows are stored in eight different groups of banks.
template <int kRows, int kWidth>
struct SharedTile {
  using Element = bf16;
  static constexpr int kChunks = kWidth / 8, kRowBytes = 2 * kWidth;
  static constexpr std::size_t kBytes = std::size_t{2} * kRows * kWidth;
  static_assert(kWidth % 32 == 0);

  int offset;  // of the tile in shared memory, in elements

  // Bytes from the tile's begin to the chunk that holds this element.
  __device__ static int chunk_bytes(int row, int column) {
    int chunk = column / 8 ^ (kChunks % 8 == 0 ? row & 7 : row >> 1 & 3);
    return row * kRowBytes + chunk * 16;
  }
  // The chunk `rows` below and `columns` to the right of the lane's own chunk, multiples of 8 and 16. One XOR per
  // column, and the rest is in the instruction's address.
  __device__ const void* chunk(int own_bytes, int rows, int columns) const {
    constexpr int kSwizzled = kChunks % 8 == 0 ? 7 * 16 : 3 * 16;
    return shared_memory<unsigned char>() + (own_bytes ^ (2 * columns & kSwizzled)) + (2 * columns & ~kSwizzled) +
           2 * offset + rows * kRowBytes;
  }

  // Starts to copy `count` contiguous rows of `width` values, a multiple of 8; the other rows and columns become zeros.
  // Called by all 128 threads of the block; each copies one chunk of every kStep-th row.
  __device__ void copy(const bf16* rows, int count, std::int64_t width,
                       int thread = static_cast<int>(threadIdx.x)) const {
    constexpr int kStep = 128 / kChunks / 8 * 8;  // a multiple of 8: a thread's rows have the same swizzle
    static_assert(kRows % kStep == 0, "the threads copy a tile in whole steps of kStep rows");
    int row = thread / kChunks, column = thread % kChunks * 8;
    if (kStep * kChunks < 128 && row >= kStep) return;
    if (column >= width) count = 0;
    const bf16* from = rows + row * width + column;
    bf16* to = shared_memory<bf16>() + offset + chunk_bytes(row, column) / 2;
    SINK_UNROLL
    for (int n = 0; n < kRows / kStep; ++n, from += kStep * width)
      cp_async_16(to + n * kStep * kWidth, from, row + n * kStep < count);
  }

  // A left operand: 16 rows from `row` on and 16 columns from first + column on, where the binary digits of the two
  // multiples of 16 do not overlap.
  __device__ void load_left(Bf16Pair (&x)[4], int lane, int row, int column, int first = 0) const {
    ldmatrix_x4(x, chunk(chunk_bytes(lane % 16, lane / 16 * 8 + first), row, column));
  }
  // Two right operands whose columns are the 16 rows from `row` on: for dot products with rows of the tile.
  __device__ void load_rows(Bf16Pair (&x)[4], int lane, int row, int column) const {
    ldmatrix_x4(x, chunk(chunk_bytes(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8), row, column));
  }
  // Two right operands whose rows are the 16 rows from `row` on: for weighted sums of rows of the tile. `first` as
  // above.
  __device__ void load_columns(Bf16Pair (&x)[4], int lane, int row, int column, int first = 0) const {
    ldmatrix_x4_trans(x, chunk(chunk_bytes(lane % 16, lane / 16 * 8 + first), row, column));
  }
  // Stores 16 rows of a left operand, from `row` on, to the columns from `column` on.
  template <int kColumns>
  __device__ void store_left(const Bf16Pair (&x)[kColumns][4], int row, int column) const {
    unsigned char* tile = shared_memory<unsigned char>() + 2 * offset;
    int lane = opaque(lane_of_thread());
    SINK_UNROLL
    for (int k = 0; k < kColumns; ++k) {
      SINK_UNROLL
      for (int n = 0; n < 4; ++n) {
        int bytes = chunk_bytes(row + lane / 4 + n % 2 * 8, column + 16 * k + n / 2 * 8) + lane % 4 * 4;
        *reinterpret_cast<Bf16Pair*>(tile + bytes) = x[k][n];
      }
    }
  }
};

// kCount floats in shared memory, as part of a block's tiles.
template <int kCount>
struct SharedFloats {
  using Element = float;
  static constexpr std::size_t kBytes = sizeof(float) * kCount;

  int offset;  // in shared memory, in floats

  __device__ float& at(int n) const { return shared_memory<float>()[offset + n]; }
};

template <class Tile>
struct DoubleBuffer {
  using Element = typename Tile::Element;
  static constexpr std::size_t kBytes = 2 * Tile::kBytes;

  int offset;

  __device__ Tile operator[](int stage) const {
    return {offset + stage * static_cast<int>(Tile::kBytes / sizeof(Element))};
  }
};

// Places the tiles in the block's shared memory, one after another.
template <class... Tiles>
__device__ void allocate_shared(Tiles&... tiles) {
  static_assert(((Tiles::kBytes % 128 == 0) && ...), "rows of eight chunks begin at the first bank");
  int next = 0;  // byte
  ((tiles.offset = next / static_cast<int>(sizeof(typename Tiles::Element)), next += static_cast<int>(Tiles::kBytes)),
   ...);
}

// In these products `lane` is lane_of_thread(), or opaque(lane_of_thread()) in kernels that are short of registers:
// then addresses are computed for each product and take no registers between them.
//
// dots[m] = left[row + 16 m ..., :] right[right_row ..., :]^T
template <int kColumns, int kM, int kLeft, int kRight, int kWidth>
__device__ void multiply_transposed(AccumulatorFragment<kColumns> (&dots)[kM], const SharedTile<kLeft, kWidth>& left,
                                    int row, const SharedTile<kRight, kWidth>& right, int right_row = 0,
                                    int lane = lane_of_thread()) {
  SINK_UNROLL
  for (int m = 0; m < kM; ++m) for_each_accumulator<kColumns>([&](int n, int e) { dots[m][n][e] = 0; });
  SINK_UNROLL
  for (int k = 0; k < kWidth; k += 16) {
    Bf16Pair a[kM][4];
    SINK_UNROLL
    for (int m = 0; m < kM; ++m) left.load_left(a[m], lane, row + 16 * m, k);
    SINK_UNROLL
    for (int n = 0; n < kColumns / 8; n += 2) {
      Bf16Pair b[4];
      right.load_rows(b, lane, right_row + 8 * n, k);
      SINK_UNROLL
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16(dots[m][n], a[m], b);
        mma_m16n8k16(dots[m][n + 1], a[m], b + 2);
      }
    }
  }
}

// *sums[m] += weights[m] tile
template <int kM, int kRows, int kWidth>
__device__ void multiply_add(AccumulatorFragment<kWidth>* const (&sums)[kM],
                             const OperandFragment<kRows> (&weights)[kM], const SharedTile<kRows, kWidth>& tile,
                             int lane = lane_of_thread()) {
  SINK_UNROLL
  for (int k = 0; k < kRows / 16; ++k) {
    SINK_UNROLL
    for (int n = 0; n < kWidth / 8; n += 2) {
      Bf16Pair b[4];
      tile.load_columns(b, lane, 16 * k, 8 * n);
      SINK_UNROLL
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16((*sums[m])[n], weights[m][k], b);
        mma_m16n8k16((*sums[m])[n + 1], weights[m][k], b + 2);
      }
    }
  }
}

// sums[m] += weights[m] tile[row ..., columns], where the sums' n-th 16 columns are those from 32 n + first_column on:
// half of the columns.
template <int kM, int kTerms, int kRows, int kWidth>
__device__ void multiply_add_half(AccumulatorFragment<kWidth / 2> (&sums)[kM], const Bf16Pair (&weights)[kM][kTerms][4],
                                  const SharedTile<kRows, kWidth>& tile, int row, int first_column, int lane) {
  SINK_UNROLL
  for (int k = 0; k < kTerms; ++k) {
    SINK_UNROLL
    for (int n = 0; n < kWidth / 32; ++n) {
      Bf16Pair b[4];
      tile.load_columns(b, lane, row + 16 * k, 32 * n, first_column);
      SINK_UNROLL
      for (int m = 0; m < kM; ++m) {
        mma_m16n8k16(sums[m][2 * n], weights[m][k], b);
        mma_m16n8k16(sums[m][2 * n + 1], weights[m][k], b + 2);
      }
    }
  }
}

// Rounds the result of a product to a left operand of the next product.
template <int kColumns>
__device__ void round_to_operand(const AccumulatorFragment<kColumns>& x, OperandFragment<kColumns>& pairs) {
  SINK_UNROLL
  for (int n = 0; n < kColumns / 8; ++n) {
    pairs[n / 2][n % 2 * 2] = pack_bf16x2(x[n][0], x[n][1]);
    pairs[n / 2][n % 2 * 2 + 1] = pack_bf16x2(x[n][2], x[n][3]);
  }
}

// A software pipeline of `count` steps and two stages: load(n, stage) starts the copies of step n to that stage's
// buffers, and they arrive while step n - 1 is computed. Called by all threads of the block. Copies that were started
// before it arrive with step 0.
template <class Load>
class Pipeline {
 public:
  __device__ Pipeline(int count, Load load) : count_(count), load_(load) {
    if (count > 0) load(0, 0);
    cp_async_commit_group();
  }
  // Waits for the copies of step n, starts those of step n + 1, and returns the stage of step n.
  __device__ int advance(int n) {
    cp_async_wait_group<0>();
    sync_block();  // all threads' copies have arrived, and all have computed step n - 1 with the other stage
    if (n + 1 < count_) load_(n + 1, (n + 1) % 2);
    cp_async_commit_group();
    return n % 2;
  }

 private:
  int count_;
  Load load_;
};
template <class Load>
Pipeline(int, Load) -> Pipeline<Load>;

}  // namespace sink::cuda
