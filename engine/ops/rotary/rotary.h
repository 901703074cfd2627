// Rotary position embedding, half-split form (Su et al. 2021), of the first 2E of D elements: for e < E and position t,
//   (x_e, x_{e+E}) -> (x_e cos - x_{e+E} sin, x_e sin + x_{e+E} cos), angle = t base^(-e/E).
// Elements from 2E on are unchanged. Backward is the rotation by the opposite angle.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "engine/check.h"
#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr double kRotaryBase = 10000;

// cos and sin of every (position, pair): (T, E) each, F32 or F64.
struct RotaryTable {
  Tensor cos_TE, sin_TE;
  // I32, the row of the table for each token, checked where batches are made (engine/data/batch.h); undefined: row t.
  Tensor positions_BT = {};

  // The row of token t of sequence b of T tokens, on the CPU.
  std::int64_t row(std::int64_t b, std::int64_t t, std::int64_t T) const {
    return positions_BT.defined() ? positions_BT.data<std::int32_t>()[b * T + t] : t;
  }
  std::string positions_text() const { return positions_BT.defined() ? ", positions are " + positions_BT.str() : ""; }
};
// base^(-e/E), the angle of pair e per position in radians; width = 2E, the head size if all of it is rotated.
inline std::vector<double> rotary_inv_freq(std::int64_t width, double base = kRotaryBase) {
  SINK_CHECK(width % 2 == 0, "rotary", "rotary positions need an even head size, got " + std::to_string(width),
             Exit::usage);
  std::vector<double> inv_freq_E;
  for (std::int64_t e = 0; e < width / 2; ++e)
    inv_freq_E.push_back(std::pow(base, -2.0 * static_cast<double>(e) / static_cast<double>(width)));
  return inv_freq_E;
}
// For positions 0 ... T - 1: cos and sin of t inv_freq_e, each times `attention_scaling`.
RotaryTable rotary_table(std::int64_t T, const std::vector<double>& inv_freq_E, DType dtype,
                         double attention_scaling = 1);
inline RotaryTable rotary_table(std::int64_t T, std::int64_t width, DType dtype) {
  return rotary_table(T, rotary_inv_freq(width), dtype);
}

// x, y: (B, H, T, D) with D >= 2E. The table is F32, or F64 if x is F64. `inverse` rotates by the opposite angle.
void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD);

// split_heads (engine/ops/heads/heads.h) and the rotation of queries and keys in one pass. qkv: (B, T, (H + 2 G) D),
// q: (B, H, T, D), k and v: (B, G, T, D).
void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD);
void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE);

SINK_BACKENDS(rotary)
SINK_BACKENDS(split_rotary)
SINK_BACKENDS(split_rotary_backward)

}  // namespace sink
