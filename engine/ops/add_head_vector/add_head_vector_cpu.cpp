// CPU backend: head vectors in F32, heads in F32 or BF16.
#include "engine/ops/add_head_vector/add_head_vector.h"

#include "engine/threads.h"

namespace sink::cpu {
namespace {

// One head's vector to the T positions of a sequence.
template <class X>
void add_to_positions(const X* o_TD, const float* v_D, X* y_TD, std::int64_t T, std::int64_t D) {
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t d = 0; d < D; ++d) store(y_TD[t * D + d], o_TD[t * D + d] + v_D[d]);
}

// The gradient of head h's vector, a block of coordinates at a time; each keeps the order of its sum.
template <class X>
void sum_positions(const X* dy_BHTD, float* dv_HD, std::int64_t h, std::int64_t B, std::int64_t H, std::int64_t T,
                   std::int64_t D, bool accumulate) {
  constexpr std::int64_t kBlock = 32;
  for (std::int64_t first = 0; first < D; first += kBlock) {
    std::int64_t count = std::min(kBlock, D - first);
    double sum[kBlock] = {};
    for (std::int64_t b = 0; b < B; ++b) {
      const X* dy = dy_BHTD + (b * H + h) * T * D + first;
      for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t i = 0; i < count; ++i) sum[i] += dy[t * D + i];
    }
    float* dv = dv_HD + h * D + first;
    for (std::int64_t i = 0; i < count; ++i) dv[i] = static_cast<float>(accumulate ? dv[i] + sum[i] : sum[i]);
  }
}

}  // namespace

void add_head_vector(const Tensor& o_BHTD, const Tensor& v_HD, Tensor& y_BHTD) {
  std::int64_t B = o_BHTD.dim(0), H = o_BHTD.dim(1), T = o_BHTD.dim(2), D = o_BHTD.dim(3);
  with_real<float, bf16>(o_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_chunks(B * H, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t bh = begin; bh < end; ++bh)
        add_to_positions(o_BHTD.data<X>() + bh * T * D, v_HD.data<float>() + bh % H * D, y_BHTD.data<X>() + bh * T * D,
                         T, D);
    });
  });
}

void add_head_vector_backward(const Tensor& dy_BHTD, Tensor& dv_HD, bool accumulate) {
  std::int64_t B = dy_BHTD.dim(0), H = dy_BHTD.dim(1), T = dy_BHTD.dim(2), D = dy_BHTD.dim(3);
  with_real<float, bf16>(dy_BHTD.dtype(), [&](auto zero) {
    using X = decltype(zero);
    parallel_for(
        H, [&](std::int64_t h) { sum_positions(dy_BHTD.data<X>(), dv_HD.data<float>(), h, B, H, T, D, accumulate); });
  });
}

}  // namespace sink::cpu
