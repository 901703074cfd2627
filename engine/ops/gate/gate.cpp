#include "engine/ops/gate/gate.h"

#include "engine/ops/gate/gate_ref.h"
#include "engine/reference_switch.h"
#include "engine/threads.h"

namespace sink {
namespace cpu {
namespace {

// As ref::gate_row in float, with vector code along the numbers of a group, or along the groups where they are single
// numbers.
template <class X>
void gate_row(const X* o_E, const X* gate_G, X* y_E, std::int64_t G, std::int64_t width) {
  if (width == 1) {
#pragma omp simd
    for (std::int64_t e = 0; e < G; ++e) store(y_E[e], float(o_E[e]) * logistic_fast(float(gate_G[e])));
    return;
  }
  for (std::int64_t n = 0; n < G; ++n) {
    float l = logistic_fast(float(gate_G[n]));
#pragma omp simd
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) store(y_E[e], float(o_E[e]) * l);
  }
}

template <class X>
void gate_row_backward(const X* dy_E, const X* o_E, const X* gate_G, X* do_E, X* dgate_G, std::int64_t G,
                       std::int64_t width) {
  if (width == 1) {
#pragma omp simd
    for (std::int64_t e = 0; e < G; ++e) {
      float dy = float(dy_E[e]), l = logistic_fast(float(gate_G[e]));
      store(do_E[e], dy * l);
      store(dgate_G[e], dy * float(o_E[e]) * l * (1 - l));
    }
    return;
  }
  for (std::int64_t n = 0; n < G; ++n) {
    float l = logistic_fast(float(gate_G[n])), dl = 0;
#pragma omp simd reduction(+ : dl)
    for (std::int64_t e = n * width; e < (n + 1) * width; ++e) {
      store(do_E[e], float(dy_E[e]) * l);
      dl += float(dy_E[e]) * float(o_E[e]);
    }
    store(dgate_G[n], dl * l * (1 - l));
  }
}

}  // namespace
}  // namespace cpu

namespace {

constexpr std::int64_t kGrainRows = 8;

struct GateSizes {
  std::int64_t rows, E, G, width;
};

GateSizes check(const char* tag, const Tensor& o_BTE, const Tensor& gate_BTG) {
  bool fits = o_BTE.rank() == 3 && gate_BTG.rank() == 3 && o_BTE.dim(0) == gate_BTG.dim(0) &&
              o_BTE.dim(1) == gate_BTG.dim(1) && gate_BTG.dim(2) > 0 && o_BTE.dim(2) % gate_BTG.dim(2) == 0 &&
              o_BTE.dtype() == gate_BTG.dtype();
  SINK_CHECK(fits, tag,
             "expected o (B, T, E) and gate (B, T, G) of one type with G a divisor of E: o is " + o_BTE.str() +
                 ", gate is " + gate_BTG.str());
  std::int64_t E = o_BTE.dim(2), G = gate_BTG.dim(2);
  return {o_BTE.dim(0) * o_BTE.dim(1), E, G, E / G};
}

void check_like(const char* tag, const char* name, const Tensor& x, const Tensor& like) {
  SINK_CHECK(x.shape() == like.shape() && x.dtype() == like.dtype(), tag,
             std::string("expected ") + name + " to be " + like.str() + ", got " + x.str());
}

}  // namespace

void gate(const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& y_BTE) {
  auto [rows, E, G, width] = check("gate", o_BTE, gate_BTG);
  check_like("gate", "y", y_BTE, o_BTE);
  with_compute_type(o_BTE.dtype(), [&, rows = rows, E = E, G = G, width = width](auto zero, auto compute_zero) {
    using X = decltype(zero);
    parallel_chunks(rows, kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const X* o = o_BTE.data<X>() + row * E;
        const X* gate = gate_BTG.data<X>() + row * G;
        X* y = y_BTE.data<X>() + row * E;
        if constexpr (std::is_same_v<decltype(compute_zero), double>)
          ref::gate_row<double>(o, gate, y, G, width);
        else
          cpu::gate_row(o, gate, y, G, width);
      }
    });
  });
}

void gate_backward(const Tensor& dy_BTE, const Tensor& o_BTE, const Tensor& gate_BTG, Tensor& do_BTE,
                   Tensor& dgate_BTG) {
  auto [rows, E, G, width] = check("gate_backward", o_BTE, gate_BTG);
  check_like("gate_backward", "dy", dy_BTE, o_BTE);
  check_like("gate_backward", "do", do_BTE, o_BTE);
  check_like("gate_backward", "dgate", dgate_BTG, gate_BTG);
  with_compute_type(o_BTE.dtype(), [&, rows = rows, E = E, G = G, width = width](auto zero, auto compute_zero) {
    using X = decltype(zero);
    parallel_chunks(rows, kGrainRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const X* dy = dy_BTE.data<X>() + row * E;
        const X* o = o_BTE.data<X>() + row * E;
        const X* gate = gate_BTG.data<X>() + row * G;
        X* d_o = do_BTE.data<X>() + row * E;
        X* dgate = dgate_BTG.data<X>() + row * G;
        if constexpr (std::is_same_v<decltype(compute_zero), double>)
          ref::gate_row_backward<double>(dy, o, gate, d_o, dgate, G, width);
        else
          cpu::gate_row_backward(dy, o, gate, d_o, dgate, G, width);
      }
    });
  });
}

}  // namespace sink
