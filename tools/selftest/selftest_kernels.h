// Kernels that execute one instruction each, for the program `selftest` and for tests of the emulated device. All
// tensors are on the device. Registers are I32: W warps of 32 lanes.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace sink::selftest {

// y[w][l] = x[w][l xor mask]. x, y: F32 (W, 32).
void shuffle_lanes(const Tensor& x, int mask, Tensor& y);

// y_t = (t + rounds) mod n: in each round every thread passes its value to a neighbour through shared memory. n: the
// 1024 threads of a block, or the 32 lanes of a warp. y: F32 (blocks, 1024). `offset`: unused floats of shared memory
// before those of the threads.
void pass_round_block(int rounds, Tensor& y, int offset = 0);
void pass_round_warps(int rounds, Tensor& y);

// y = x through shared memory; a thread reads what another one copied. Each step copies 128 chunks of 16 bytes, with
// `stages` (1, 2 or 3) steps in flight. Chunks from n_chunks on are zeros. x, y: F32 (512 * steps).
void copy_in_steps(const Tensor& x, int stages, std::int64_t n_chunks, Tensor& y);

// ldmatrix.x4 from shared memory that holds the 16-bit values 0, 1, 2, ...: lane l of warp w addresses the row of 8
// values that begins at 8 chunks_WL[w][l]. chunks_WL: I32 (W, 32), 0 to 63. registers: I32 (W, 32, 4).
void load_registers(const Tensor& chunks_WL, bool transposed, Tensor& registers);

// sums += left right with mma.m16n8k16. left: I32 (W, 32, 4), right: I32 (W, 32, 2), sums: F32 (W, 32, 4).
void multiply_registers(const Tensor& left, const Tensor& right, Tensor& sums);

// pairs_n = pack_bf16x2(x_n0, x_n1). x: F32 (n, 2), pairs: I32 (n).
void pack_pairs(const Tensor& x, Tensor& pairs);

enum class Approximation { exp2, log2, reciprocal };
// x, y: F32 of the same size.
void approximate(Approximation which, const Tensor& x, Tensor& y);

// The layout in shared memory of a tile of bf16 rows, 32, 64, 96 or 128 wide: row-major, or swizzled (SharedTile,
// engine/cuda/matrix_tiles.cuh).
enum class Order { plain, swizzled };
// The operand that is loaded: a left one, or right ones whose columns or rows are rows of the tile. Order::plain loads
// left ones only.
enum class TileLoad { left, rows, columns };
// The 16 x 16 operands of the tile x_RD, BF16 (64, width), in the lanes' registers; rows from n_rows on are zeros.
// registers: I32 (4, width / 16, 32, 4).
void load_tile(const Tensor& x_RD, int n_rows, Order order, TileLoad load, Tensor& registers);

// The column, in chunks of 16 bytes, where a swizzled tile stores each chunk of its rows. columns_RC: I32 (64, width /
// 8).
void swizzled_columns(Tensor& columns_RC);

}  // namespace sink::selftest
