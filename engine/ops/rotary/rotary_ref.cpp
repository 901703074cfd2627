#include "engine/ops/rotary/rotary_ref.h"

#include "engine/ops/rotary/rotary_math.h"

namespace sink::ref {

// Landmark for the debugger: the D numbers at position t, the first 2E of them rotated by the angles of that position,
// or by the opposite ones where `sign` is -1.
[[gnu::noinline]] void rotary_row([[maybe_unused]] std::int64_t t, const double* x_D, const double* cos_E,
                                  const double* sin_E, double sign, double* y_D, std::int64_t E, std::int64_t D) {
  for (std::int64_t e = 0; e < E; ++e) {
    auto [first, second] = rotate(x_D[e], x_D[e + E], cos_E[e], sign * sin_E[e]);
    y_D[e] = first;
    y_D[e + E] = second;
  }
  for (std::int64_t d = 2 * E; d < D; ++d) y_D[d] = x_D[d];
}

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), E = table.cos_TE.dim(1);
  for (std::int64_t row = 0; row * D < x_BHTD.size(); ++row) {
    std::int64_t t = row % T;
    rotary_row(t, x_BHTD.data<double>() + row * D, table.cos_TE.data<double>() + t * E,
               table.sin_TE.data<double>() + t * E, inverse ? -1 : 1, y_BHTD.data<double>() + row * D, E, D);
  }
}

}  // namespace sink::ref
