#include "engine/ops/rms_norm/rms_norm.h"

#include <type_traits>

#include "engine/ops/rms_norm/rms_norm_ref.h"
#include "engine/threads.h"

namespace sink {
namespace {

// The gain's gradient is summed in blocks of this many rows and then over the blocks, in order: the same bits for any
// number of threads.
constexpr std::int64_t kRowBlock = 64;

struct Rows {
  std::int64_t rows, C;
};

Rows check(const Tensor& x, const Tensor& gain_C, const Tensor& y, const Tensor& r) {
  std::int64_t C = x.rank() ? x.dim(-1) : 0;
  std::int64_t rows = C ? x.size() / C : 0;
  SINK_CHECK(gain_C.size() == C && y.shape() == x.shape() && r.size() == rows, "rms_norm",
             "the last axis of x must equal the size of the gain, and r hold a number a row: x is " + x.str() +
                 ", gain is " + gain_C.str() + ", y is " + y.str() + ", r is " + r.str());
  bool types_fit = x.dtype() == gain_C.dtype() && r.dtype() == x.dtype() &&
                   (x.dtype() == DType::F32 || x.dtype() == DType::F64) &&
                   (y.dtype() == x.dtype() || (y.dtype() == DType::BF16 && x.dtype() == DType::F32));
  SINK_CHECK(types_fit, "rms_norm",
             "x, gain and r must be f32 or f64, y of that type or bf16: x is " + x.str() + ", gain is " + gain_C.str() +
                 ", y is " + y.str());
  return {rows, C};
}

// f(x type, y type) for the three combinations that exist.
template <class F>
void with_types(const Tensor& x, const Tensor& y, F&& f) {
  if (x.dtype() == DType::F64) return f(double{}, double{});
  if (y.dtype() == DType::F32) return f(float{}, float{});
  f(float{}, bf16{});
}

}  // namespace

void rms_norm(const Tensor& x, const Tensor& gain_C, Tensor& y, Tensor& r) {
  auto [rows, C] = check(x, gain_C, y, r);
  with_types(x, y, [&, rows = rows, C = C](auto x_zero, auto y_zero) {
    using X = decltype(x_zero);
    using Y = decltype(y_zero);
    parallel_chunks(rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        r.data<X>()[row] =
            ref::rms_norm_row<X>(row, x.data<X>() + row * C, gain_C.data<X>(), y.data<Y>() + row * C, C, kNormEpsilon);
    });
  });
}

void rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& r, Tensor& dx,
                       bool accumulate_dx, Tensor& dgain_C, bool accumulate_dgain) {
  auto [rows, C] = check(x, gain_C, dy, r);
  SINK_CHECK(dx.shape() == x.shape() && dgain_C.shape() == gain_C.shape(), "rms_norm_backward",
             "gradients must have the shapes of their tensors: dx is " + dx.str() + ", dgain is " + dgain_C.str());
  std::int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
  Tensor partial = Tensor::zeros({std::max<std::int64_t>(blocks, 1), C}, x.dtype());
  with_types(x, dy, [&, rows = rows, C = C](auto x_zero, auto y_zero) {
    using X = decltype(x_zero);
    using Y = decltype(y_zero);
    parallel_chunks(blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first * kRowBlock; row < std::min(rows, last * kRowBlock); ++row)
        ref::rms_norm_row_backward<X>(row, dy.data<Y>() + row * C, x.data<X>() + row * C, gain_C.data<X>(),
                                      r.data<X>()[row], dx.data<X>() + row * C, accumulate_dx,
                                      partial.data<X>() + row / kRowBlock * C, C);
    });
    X* dgain = dgain_C.data<X>();
    if (!accumulate_dgain)
      for (std::int64_t c = 0; c < C; ++c) dgain[c] = 0;
    for (std::int64_t block = 0; block < blocks; ++block)
      for (std::int64_t c = 0; c < C; ++c) dgain[c] += partial.data<X>()[block * C + c];
  });
}

}  // namespace sink
