// Kernels that do one thing each, for the program `selftest` and for tests of the emulated device: what an instruction
// gives each lane, as tensors. All tensors are on the device; registers are I32, W warps of 32 lanes of them.
#pragma once

#include <cstdint>

#include "engine/tensor.h"

namespace sink::cuda {

// y_i = the x of the lane that is i's lane xor mask. x, y: F32 (W, 32).
void shuffle_lanes(const Tensor& x, int mask, Tensor& y);

// y_t = (t + rounds) mod the number of threads that meet, each round one step by way of shared memory: 1024 threads of
// a block, or the lanes of each warp. y: F32 (blocks, 1024). The block's shared memory has `before` numbers more, in
// front of those.
void pass_round_block(int rounds, Tensor& y, int before = 0);
void pass_round_warps(int rounds, Tensor& y);

// y = x, read by other threads than those that copied it to shared memory: 128 chunks of 16 bytes a step, the copies of
// up to `stages` (1, 2 or 3) steps on their way. Chunks from `real` on are zeros. x, y: F32, 512 times the steps.
void copy_in_steps(const Tensor& x, int stages, std::int64_t real, Tensor& y);

// What lanes get of shared memory whose 16-bit numbers are 0, 1, 2, ...: chunks_WL, I32 (W, 32), says which 8 of them,
// from 0 to 63, are the row that a lane gives. registers: I32 (W, 32, 4).
void load_registers(const Tensor& chunks_WL, bool transposed, Tensor& registers);

// sums += left right as mma.m16n8k16 does it. left: I32 (W, 32, 4), right: I32 (W, 32, 2), sums: F32 (W, 32, 4).
void multiply_registers(const Tensor& left, const Tensor& right, Tensor& sums);

// x: F32 (n, 2), pairs: I32 (n).
void pack_pairs(const Tensor& x, Tensor& pairs);

enum class Approximation { exp2, log2, reciprocal };
// x, y: F32 of one size.
void approximate(Approximation which, const Tensor& x, Tensor& y);

// How a tile of bf16 rows, 32, 64, 96 or 128 wide, lies in shared memory: row by row, or with the chunks of each row in
// an order of its own (SharedTile, engine/cuda/matrix_tiles.cuh).
enum class Order { plain, swizzled };
// What is loaded of it: a left operand, or right operands whose columns or rows are rows of the tile. Plain: the first.
enum class TileLoad { left, rows, columns };
// The 16 x 16 matrices of a tile as lanes hold them: x, BF16 (64, width), of which rows from `real` on are zeros.
// registers: I32 (4, width / 16, 32, 4).
void load_tile(const Tensor& x_RD, int real, Order order, TileLoad load, Tensor& registers);

// Where each chunk of 16 bytes of a swizzled tile's rows lies, counted in chunks from the row's beginning.
// places_RC: I32 (64, width / 8).
void place_chunks(Tensor& places_RC);

}  // namespace sink::cuda
