// CPU backend: the output gate in F32 and BF16, computed in float.
#include "engine/ops/gate/gate.h"

#include "engine/ops/gate/gate_function.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kGateRows = 8;

// One row of G groups of `width` elements. Vectorizes over the elements of a group, or over the groups if width is 1.
template <class F, class X>
void gate_row(const X* o_E, const X* gate_G, X* y_E, std::int64_t G, std::int64_t width) {
  if (width == 1) {
#pragma omp simd
    for (std::int64_t e = 0; e < G; ++e) store(y_E[e], float(o_E[e]) * F::f(float(gate_G[e])));
    return;
  }
  for (std::int64_t n = 0; n < G; ++n) {
    float l = F::f(float(gate_G[n]));
#pragma omp simd
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) store(y_E[e], float(o_E[e]) * l);
  }
}

template <class F, class X>
void gate_row_backward(const X* dy_E, const X* o_E, const X* gate_G, X* do_E, X* dgate_G, std::int64_t G,
                       std::int64_t width) {
  if (width == 1) {
#pragma omp simd
    for (std::int64_t e = 0; e < G; ++e) {
      float dy = float(dy_E[e]), g = float(gate_G[e]), l = F::f(g);
      store(do_E[e], dy * l);
      store(dgate_G[e], F::backward(dy * float(o_E[e]), g, l));
    }
    return;
  }
  for (std::int64_t n = 0; n < G; ++n) {
    float g = float(gate_G[n]), l = F::f(g), dl = 0;
#pragma omp simd reduction(+ : dl)
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) {
      store(do_E[e], float(dy_E[e]) * l);
      dl += float(dy_E[e]) * float(o_E[e]);
    }
    store(dgate_G[n], F::backward(dl, g, l));
  }
}

// f(row, zero of the type, the function) over the positions of o, on all threads.
template <class F>
void for_gate_rows(const Tensor& o_BTE, GateFunction function, F&& f) {
  with_gate_function(function, [&](auto of_gate) {
    with_real<float, bf16>(o_BTE.dtype(), [&](auto zero) {
      parallel_chunks(o_BTE.dim(0) * o_BTE.dim(1), kGateRows, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) f(row, zero, of_gate);
      });
    });
  });
}

}  // namespace

void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE, GateFunction function) {
  std::int64_t E = o_BTE.dim(2), G = gate_BTG.dim(2);
  for_gate_rows(o_BTE, function, [&](std::int64_t row, auto zero, auto f) {
    using X = decltype(zero);
    gate_row<decltype(f)>(o_BTE.data<X>() + row * E, gate_BTG.data<X>() + row * G, y_BTE.data<X>() + row * E, G, E / G);
  });
}

void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE, Tensor& dgate_BTG,
                   GateFunction function) {
  std::int64_t E = o_BTE.dim(2), G = gate_BTG.dim(2);
  for_gate_rows(o_BTE, function, [&](std::int64_t row, auto zero, auto f) {
    using X = decltype(zero);
    gate_row_backward<decltype(f)>(dy_BTE.data<X>() + row * E, o_BTE.data<X>() + row * E, gate_BTG.data<X>() + row * G,
                                   do_BTE.data<X>() + row * E, dgate_BTG.data<X>() + row * G, G, E / G);
  });
}

}  // namespace sink::cpu
