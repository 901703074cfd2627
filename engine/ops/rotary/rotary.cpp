#include "engine/ops/rotary/rotary.h"

#include <cmath>

#include "engine/implementation.h"
#include "engine/ops/check_like.h"
#include "engine/ops/rotary/rotary_cpu.h"
#include "engine/ops/rotary/rotary_cuda.h"
#include "engine/ops/rotary/rotary_ref.h"

namespace sink {

RotaryTable rotary_table(std::int64_t T, std::int64_t width, DType dtype, double base) {
  SINK_CHECK(width % 2 == 0, "rotary", "rotary positions need an even width of a head, got " + std::to_string(width),
             Exit::usage);
  SINK_CHECK(dtype == accumulate_type(dtype), "rotary",
             std::string("the table must be f32 or f64, got ") + name_of(dtype));
  std::int64_t E = width / 2;
  Tensor cos_TE = Tensor::empty({T, E}, DType::F64), sin_TE = Tensor::empty_like(cos_TE);
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t e = 0; e < E; ++e) {
      double angle =
          static_cast<double>(t) * std::pow(base, -2.0 * static_cast<double>(e) / static_cast<double>(width));
      cos_TE.data<double>()[t * E + e] = std::cos(angle);
      sin_TE.data<double>()[t * E + e] = std::sin(angle);
    }
  return {cos_TE.to(dtype), sin_TE.to(dtype)};
}

template <>
struct Widened<const RotaryTable> {
  RotaryTable wide;
  explicit Widened(const RotaryTable& given) : wide{given.cos_TE.to(DType::F64), given.sin_TE.to(DType::F64)} {}
  const RotaryTable& argument() const { return wide; }
  void round_back() {}
};

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  const Tensor& cos_TE = table.cos_TE;
  SINK_CHECK(x_BHTD.rank() == 4 && cos_TE.dim(0) >= x_BHTD.dim(2) && 2 * cos_TE.dim(1) <= x_BHTD.dim(3) &&
                 cos_TE.dtype() == accumulate_type(x_BHTD.dtype()),
             "rotary",
             "expected a table of f32 (f64 for f64), a row for each of T positions and at most D/2 columns: x is " +
                 x_BHTD.str() + ", table is " + cos_TE.str());
  check_like("rotary", "sin", table.sin_TE, cos_TE);
  check_like("rotary", "y", y_BHTD, x_BHTD);
  SINK_SELECT(x_BHTD, rotary)(x_BHTD, table, inverse, y_BHTD);
}

}  // namespace sink
