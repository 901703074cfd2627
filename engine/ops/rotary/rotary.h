// Rotary position embedding, half-split form (Su et al. 2021): for d < D/2 and position p,
//   (x_d, x_{d+D/2}) -> (x_d cos - x_{d+D/2} sin, x_d sin + x_{d+D/2} cos), angle = p base^(-2d/D).
// Backward is the rotation by the opposite angle.
#pragma once

#include "engine/tensor.h"

namespace sink {

inline constexpr double kRotaryBase = 10000;

// cos and sin of every (position, pair): (T, D/2) each, F32 or F64.
struct RotaryTable {
  Tensor cos_TE, sin_TE;
};
RotaryTable rotary_table(std::int64_t T, std::int64_t D, DType dtype, double base = kRotaryBase);

// x, y: (B, H, T, D), D even; position t is row t of the table. `inverse` turns back.
void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD);

}  // namespace sink
