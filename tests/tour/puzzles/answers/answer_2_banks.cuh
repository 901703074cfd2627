// An answer to GPU puzzle 2: eight neighbouring rows put the same chunk into eight groups of banks.
#pragma once

#include "engine/cuda/matrix_instructions.cuh"

namespace sink::tour {

__device__ inline int place_of_chunk(int row, int chunk) { return 8 * row + (chunk ^ row % 8); }

}  // namespace sink::tour
