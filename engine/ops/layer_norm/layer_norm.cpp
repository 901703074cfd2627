#include "engine/ops/layer_norm/layer_norm.h"

#include "engine/ops/layer_norm/layer_norm_ref.h"
#include "engine/reference_switch.h"
#include "engine/threads.h"

namespace sink {
namespace {

// The gradients of gain and bias are summed in blocks of this many rows and then over the blocks, in order: the same
// bits for any number of threads.
constexpr std::int64_t kRowBlock = 64;

struct Rows {
  std::int64_t rows, C;
};

Rows check(const char* tag, const Tensor& x, const Tensor& gain_C, const Tensor& y, const Tensor& mean,
           const Tensor& r) {
  std::int64_t C = x.rank() ? x.dim(-1) : 0;
  std::int64_t rows = C ? x.size() / C : 0;
  SINK_CHECK(gain_C.size() == C && y.shape() == x.shape() && mean.size() == rows && r.size() == rows, tag,
             "the last axis of x must equal the size of the gain, and mean and r hold a number a row: x is " + x.str() +
                 ", gain is " + gain_C.str() + ", y is " + y.str() + ", mean is " + mean.str() + ", r is " + r.str());
  bool types_fit = x.dtype() == gain_C.dtype() && mean.dtype() == x.dtype() && r.dtype() == x.dtype() &&
                   (x.dtype() == DType::F32 || x.dtype() == DType::F64) &&
                   (y.dtype() == x.dtype() || (y.dtype() == DType::BF16 && x.dtype() == DType::F32));
  SINK_CHECK(types_fit, tag,
             "x, gain, mean and r must be f32 or f64, y of that type or bf16: x is " + x.str() + ", gain is " +
                 gain_C.str() + ", mean is " + mean.str() + ", r is " + r.str() + ", y is " + y.str());
  return {rows, C};
}

void check_like(const char* tag, const char* name, const Tensor& x, const Tensor& like) {
  SINK_CHECK(x.shape() == like.shape() && x.dtype() == like.dtype(), tag,
             std::string("expected ") + name + " to be " + like.str() + ", got " + x.str());
}

// f(x type, y type, type of sums) for the combinations that exist.
template <class F>
void with_types(const Tensor& x, const Tensor& y, F&& f) {
  with_compute_type(x.dtype(), [&](auto x_zero, auto sum_zero) {
    if constexpr (std::is_same_v<decltype(x_zero), float>) {
      if (y.dtype() == DType::BF16) return f(x_zero, bf16{}, sum_zero);
    }
    if constexpr (!std::is_same_v<decltype(x_zero), bf16>) f(x_zero, x_zero, sum_zero);
  });
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& gain_C, const Tensor& bias_C, Tensor& y, Tensor& mean, Tensor& r) {
  auto [rows, C] = check("layer_norm", x, gain_C, y, mean, r);
  check_like("layer_norm", "bias", bias_C, gain_C);
  with_types(x, y, [&, rows = rows, C = C](auto x_zero, auto y_zero, auto sum_zero) {
    using X = decltype(x_zero);
    using Y = decltype(y_zero);
    parallel_chunks(rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        auto saved =
            ref::layer_norm_row<decltype(sum_zero)>(row, x.data<X>() + row * C, gain_C.data<X>(), bias_C.data<X>(),
                                                    y.data<Y>() + row * C, C, kLayerNormEpsilon);
        mean.data<X>()[row] = saved.mean;
        r.data<X>()[row] = saved.r;
      }
    });
  });
}

void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gain_C, const Tensor& mean, const Tensor& r,
                         const LayerNormGradient& dx, const LayerNormGradient& dgain_C,
                         const LayerNormGradient& dbias_C) {
  auto [rows, C] = check("layer_norm_backward", x, gain_C, dy, mean, r);
  check_like("layer_norm_backward", "dx", dx.grad, x);
  check_like("layer_norm_backward", "dgain", dgain_C.grad, gain_C);
  check_like("layer_norm_backward", "dbias", dbias_C.grad, gain_C);
  std::int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
  Tensor partial = Tensor::zeros({std::max<std::int64_t>(blocks, 1), 2, C}, x.dtype());  // gain's share, bias's share
  with_types(x, dy, [&, rows = rows, C = C](auto x_zero, auto y_zero, auto sum_zero) {
    using X = decltype(x_zero);
    using Y = decltype(y_zero);
    parallel_chunks(blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first * kRowBlock; row < std::min(rows, last * kRowBlock); ++row) {
        X* share = partial.data<X>() + row / kRowBlock * 2 * C;
        ref::layer_norm_row_backward<decltype(sum_zero)>(
            row, dy.data<Y>() + row * C, x.data<X>() + row * C, gain_C.data<X>(),
            ref::LayerNormRow<X>{mean.data<X>()[row], r.data<X>()[row]}, dx.grad.data<X>() + row * C, dx.accumulate,
            share, share + C, C);
      }
    });
    auto add_shares = [&](const LayerNormGradient& to, std::int64_t which) {
      X* grad = to.grad.data<X>();
      if (!to.accumulate) std::fill_n(grad, C, X(0));
      for (std::int64_t block = 0; block < blocks; ++block)
        for (std::int64_t c = 0; c < C; ++c) grad[c] += partial.data<X>()[(block * 2 + which) * C + c];
    };
    add_shares(dgain_C, 0);
    add_shares(dbias_C, 1);
  });
}

}  // namespace sink
