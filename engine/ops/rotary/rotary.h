// Rotary position embedding, half-split form (Su et al. 2021), of the first 2E of D numbers: for e < E and position t,
//   (x_e, x_{e+E}) -> (x_e cos - x_{e+E} sin, x_e sin + x_{e+E} cos), angle = t base^(-e/E).
// Numbers from 2E on stay as they are. Backward is the rotation by the opposite angle.
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
  // I32, the row of the table for each token, which whoever makes them checks (engine/data/batch.h); undefined: t.
  Tensor positions_BT = {};

  // That of token t of sequence b of T tokens, on the CPU.
  std::int64_t row(std::int64_t b, std::int64_t t, std::int64_t T) const {
    return positions_BT.defined() ? positions_BT.data<std::int32_t>()[b * T + t] : t;
  }
  // For messages.
  std::string positions_text() const { return positions_BT.defined() ? ", positions are " + positions_BT.str() : ""; }
};
// base^(-e/E), what pair e turns by from one position to the next, in radians; width = 2E, the width of a head where
// all of it is rotated.
inline std::vector<double> rotary_turns(std::int64_t width, double base = kRotaryBase) {
  SINK_CHECK(width % 2 == 0, "rotary", "rotary positions need an even width of a head, got " + std::to_string(width),
             Exit::usage);
  std::vector<double> turns_E;
  for (std::int64_t e = 0; e < width / 2; ++e)
    turns_E.push_back(std::pow(base, -2.0 * static_cast<double>(e) / static_cast<double>(width)));
  return turns_E;
}
// For positions 0 ... T - 1: cos and sin of t times turns_E, each times `length`.
RotaryTable rotary_table(std::int64_t T, const std::vector<double>& turns_E, DType dtype, double length = 1);
inline RotaryTable rotary_table(std::int64_t T, std::int64_t width, DType dtype) {
  return rotary_table(T, rotary_turns(width), dtype);
}

// x, y: (B, H, T, D) with D >= 2E; token t has row t of the table or that of its position; F32 or, for F64, F64.
// `inverse` rotates by the opposite angle.
void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD);

// split_heads (engine/ops/heads/heads.h) and the rotation of queries and keys, in one pass: qkv is (B, T, (H + 2 G) D),
// q (B, H, T, D), k and v (B, G, T, D). Backward rotates dq and dk back and gathers the three.
void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD);
void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE);

SINK_BACKENDS(rotary)
SINK_BACKENDS(split_rotary)
SINK_BACKENDS(split_rotary_backward)

}  // namespace sink
