// y = times x W^T, and rows of W, for a matrix of weights in a memory-mapped file (engine/stored/stored_matrix.h).
//
// Weights are decoded on every call. The CPU backend decodes row by row if x has few rows, else in tiles of rows, each
// multiplied by the ordinary matrix product. The CUDA backend decodes tiles on the CPU and copies them to the device.
// Not for training: there is no backward.
#pragma once

#include "engine/ops/backends.h"
#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr std::int64_t kFewStoredRows = 8;  // of x, for which weights are decoded row by row

// x: (..., K), y: (..., N) of the same type, or F32 for x of BF16 (sums are F32 in both, and products read W rounded to
// BF16 where x has many rows); W: (N, K).
void stored_product(const Tensor& x, const StoredMatrix& w_NK, Tensor& y);

// x_btk = times w_{token(b, t), k}. tokens: I32 (B, T) with values in [0, V); x: (B, T, K), F32 or F64.
void stored_rows(const Tensor& tokens_BT, const StoredMatrix& w_VK, Tensor& x_BTK);

SINK_BACKENDS(stored_product)
SINK_BACKENDS(stored_rows)

}  // namespace sink
