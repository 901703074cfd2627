// CPU backend: F32 and BF16, computed in float, a piece of the rows on each thread.
#include "engine/ops/top_softmax/top_softmax.h"

#include "engine/ops/top_softmax/top_softmax_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

constexpr std::int64_t kChosenRows = 16;

}  // namespace

void top_softmax(const Tensor& x, std::int64_t k, Tensor& p) {
  const std::int64_t E = x.dim(-1);
  with_real<float, bf16>(x.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(x.size() / E, kChosenRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) top_softmax_row<float>(x.data<X>() + n * E, E, k, p.data<X>() + n * E);
    });
  });
}

void top_softmax_backward(const Tensor& dp, const Tensor& p, Tensor& dx) {
  const std::int64_t E = p.dim(-1);
  with_real<float, bf16>(p.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(p.size() / E, kChosenRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n)
        top_softmax_row_backward<float>(dp.data<X>() + n * E, p.data<X>() + n * E, E, dx.data<X>() + n * E);
    });
  });
}

}  // namespace sink::cpu
