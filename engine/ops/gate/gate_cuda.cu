// CUDA backend: the output gate in F32 and BF16, computed in float.
#include "engine/ops/gate/gate.h"

#include "engine/cuda/elements.cuh"
#include "engine/cuda/warp.cuh"
#include "engine/ops/gate/gate_function.h"

namespace sink::cuda {
namespace {

// Group n, counted over all rows, is the elements [n width, (n + 1) width).
template <class F, class X>
void forward(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE) {
  std::int64_t width = o_BTE.dim(2) / gate_BTG.dim(2);
  const X *o = o_BTE.device_data<X>(), *g = gate_BTG.device_data<X>();
  X* y = y_BTE.device_data<X>();
  for_each_element(o_BTE.size(), [=] __device__(std::int64_t i) {
    store(y[i], static_cast<float>(o[i]) * F::f(static_cast<float>(g[i / width])));
  });
}

// One warp per group; lane l has its elements l, l + 32, ...
template <class F, class X>
__global__ void gate_backward_kernel(std::int64_t groups, std::int64_t width, const X* dy, const X* o, const X* g,
                                     X* d_o, X* dgate) {
  std::int64_t n = row_of_warp();
  if (n >= groups) return;
  float g_n = static_cast<float>(g[n]), l = F::f(g_n), dl = 0;
  for (std::int64_t e = n * width + lane_of_thread(); e < (n + 1) * width; e += kWarp) {
    float dy_e = static_cast<float>(dy[e]);
    store(d_o[e], dy_e * l);
    dl += dy_e * static_cast<float>(o[e]);
  }
  dl = warp_sum(dl);
  if (lane_of_thread() == 0) store(dgate[n], F::backward(dl, g_n, l));
}

// One thread per group, for groups narrower than a warp. With width 1 neighbouring threads access neighbouring
// elements.
template <class F, class X>
void backward_of_narrow_groups(std::int64_t groups, std::int64_t width, const X* dy, const X* o, const X* g, X* d_o,
                               X* dgate) {
  for_each_element(groups, [=] __device__(std::int64_t n) {
    float g_n = static_cast<float>(g[n]), l = F::f(g_n), dl = 0;
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) {
      float dy_e = static_cast<float>(dy[e]);
      store(d_o[e], dy_e * l);
      dl += dy_e * static_cast<float>(o[e]);
    }
    store(dgate[n], F::backward(dl, g_n, l));
  });
}

template <class F, class X>
void backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE, Tensor& dgate_BTG) {
  std::int64_t groups = gate_BTG.size(), width = o_BTE.dim(2) / gate_BTG.dim(2);
  const X *dy = dy_BTE.device_data<X>(), *o = o_BTE.device_data<X>(), *g = gate_BTG.device_data<X>();
  X *d_o = do_BTE.device_data<X>(), *dgate = dgate_BTG.device_data<X>();
  if (width < kWarp) return backward_of_narrow_groups<F>(groups, width, dy, o, g, d_o, dgate);
  launch(grid_of_rows(groups), gate_backward_kernel<F, X>, groups, width, dy, o, g, d_o, dgate);
}

}  // namespace

void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE, GateFunction function) {
  with_gate_function(function, [&](auto f) {
    with_real<float, bf16>(o_BTE.dtype(),
                           [&](auto zero) { forward<decltype(f), decltype(zero)>(o_BTE, gate_BTG, y_BTE); });
  });
}

void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE, Tensor& dgate_BTG,
                   GateFunction function) {
  with_gate_function(function, [&](auto f) {
    with_real<float, bf16>(o_BTE.dtype(), [&](auto zero) {
      backward<decltype(f), decltype(zero)>(dy_BTE, o_BTE, gate_BTG, do_BTE, dgate_BTG);
    });
  });
}

}  // namespace sink::cuda
