#include "engine/ops/rotary/rotary.h"

#include <cmath>
#include <type_traits>

#include "engine/ops/rotary/rotary_ref.h"
#include "engine/threads.h"

namespace sink {

RotaryTable rotary_table(std::int64_t T, std::int64_t D, DType dtype, double base) {
  SINK_CHECK(D % 2 == 0, "rotary", "rotary positions need an even width of a head, got " + std::to_string(D),
             Exit::usage);
  RotaryTable table{Tensor::empty({T, D / 2}, dtype), Tensor::empty({T, D / 2}, dtype)};
  with_real(dtype, [&](auto zero) {
    using R = decltype(zero);
    if constexpr (std::is_same_v<R, bf16>)
      fail("rotary", "the table must be f32 or f64, got bf16");
    else
      for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t d = 0; d < D / 2; ++d) {
          double angle =
              static_cast<double>(t) * std::pow(base, -2.0 * static_cast<double>(d) / static_cast<double>(D));
          table.cos_TE.data<R>()[t * (D / 2) + d] = static_cast<R>(std::cos(angle));
          table.sin_TE.data<R>()[t * (D / 2) + d] = static_cast<R>(std::sin(angle));
        }
  });
  return table;
}

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  SINK_CHECK(x_BHTD.rank() == 4 && x_BHTD.shape() == y_BHTD.shape() && x_BHTD.dtype() == y_BHTD.dtype() &&
                 table.cos_TE.dim(0) >= x_BHTD.dim(2) && 2 * table.cos_TE.dim(1) == x_BHTD.dim(3),
             "rotary",
             "the table must cover T and D/2: x is " + x_BHTD.str() + ", y is " + y_BHTD.str() + ", table is " +
                 table.cos_TE.str());
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), rows = x_BHTD.size() / std::max<std::int64_t>(D, 1);
  with_real(x_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    using R = std::conditional_t<std::is_same_v<X, double>, double, float>;
    const R* cos = table.cos_TE.data<R>();
    const R* sin = table.sin_TE.data<R>();
    R sign = inverse ? R(-1) : R(1);
    parallel_chunks(rows, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::int64_t t = row % T;
        ref::rotary_row(t, x_BHTD.data<X>() + row * D, cos + t * (D / 2), sin + t * (D / 2), sign,
                        y_BHTD.data<X>() + row * D, D);
      }
    });
  });
}

}  // namespace sink
