// CPU backend: F32 and BF16, computed in float, a piece of the rows on each thread.
#include "engine/ops/top_softmax/top_softmax.h"

#include "engine/ops/top_softmax/top_softmax_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kChosenRows = 16;

// f(n, zero of the type) for the first element n of each row of x.
template <class F>
void for_each_row(const Tensor& x, F f) {
  const std::int64_t E = x.dim(-1);
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    parallel_chunks(x.size() / E, kChosenRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) f(row * E, zero);
    });
  });
}

}  // namespace

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  for_each_row(x, [&]<class X>(std::int64_t n, X) {
    top_softmax_row<float>(x.data<X>() + n, x.dim(-1), k, p.data<X>() + n);
  });
}

void keep_largest(const Tensor& s, std::int64_t k, Tensor& p) {
  for_each_row(s, [&]<class X>(std::int64_t n, X) {
    keep_largest_row<float>(s.data<X>() + n, s.dim(-1), k, p.data<X>() + n);
  });
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, const Tensor& s, Tensor& dx) {
  for_each_row(p, [&]<class X>(std::int64_t n, X) {
    top_softmax_row_backward<float>(dp.data<X>() + n, p.data<X>() + n, s.data<X>() + n, p.dim(-1), dx.data<X>() + n);
  });
}

}  // namespace sink::cpu
