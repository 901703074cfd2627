// GPU puzzle 2: fix the bank conflict.
#pragma once

#include "engine/cuda/matrix_instructions.cuh"

namespace sink::tour {

// A tile of 32 rows and 64 columns of bf16 is stored in shared memory in chunks of 16 bytes, eight values of a row.
// Returns the place, from 0 to 255, of a chunk: row 0 to 31, chunk 0 to 7 of the row.
//
// Shared memory has eight groups of banks; place p is in group p % 8. ldmatrix reads the same chunk of eight rows at
// once, in one wavefront if they are in eight groups; here they are all in one, and it takes eight wavefronts. Find
// other places: still 256 different ones, and without a conflict.
__device__ inline int place_of_chunk(int row, int chunk) {
  return 8 * row + chunk;  // yours
}

}  // namespace sink::tour
