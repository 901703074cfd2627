// CUDA backend: reordering and summing heads of F32 and BF16.
#include "engine/ops/heads/heads.h"

#include <algorithm>

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"

namespace sink::cuda {
namespace {

// One block per position; a thread moves N of the D elements of a head. Head h is head first_head + h of a row.
template <int N, bool kToHeads, class Heads, class Rows>
__global__ void move_kernel(Heads* heads_BHTD, Rows* rows_BTE, std::int64_t first_head, std::int64_t H, std::int64_t T,
                            std::int64_t D, std::int64_t E) {
  std::int64_t position = blockIdx.x, b = position / T, t = position % T;
  int of_head = static_cast<int>(D / N), items = static_cast<int>(H) * of_head;
  for (int i = static_cast<int>(threadIdx.x); i < items; i += static_cast<int>(blockDim.x)) {
    std::int64_t h = i / of_head, d = i % of_head * N;
    Heads* head = heads_BHTD + ((b * H + h) * T + t) * D + d;
    Rows* row = rows_BTE + position * E + (first_head + h) * D + d;
    if constexpr (kToHeads)
      store_vector(head, load_vector<N>(row));
    else
      store_vector(row, load_vector<N>(head));
  }
}

// Moves H heads to or from heads [first_head, first_head + H) of every row.
template <bool kToHeads, class X, class Heads, class Rows>
void move_as(Heads& heads_BHTD, Rows& rows_BTE, std::int64_t first_head) {
  std::int64_t B = heads_BHTD.dim(0), H = heads_BHTD.dim(1), T = heads_BHTD.dim(2), D = heads_BHTD.dim(3);
  auto* heads = heads_BHTD.template device_data<X>();
  auto* rows = rows_BTE.template device_data<X>();
  with_vectors<kVector<X>>(in_vectors<kVector<X>>(D, heads, rows), [&](auto width) {
    constexpr int N = decltype(width)::value;
    unsigned threads = std::min(blocks_for(H * D / N, kWarp) * kWarp, 256u);
    launch({static_cast<unsigned>(B * T), threads},
           move_kernel<N, kToHeads, std::remove_pointer_t<decltype(heads)>, std::remove_pointer_t<decltype(rows)>>,
           heads, rows, first_head, H, T, D, rows_BTE.dim(2));
  });
}

template <bool kToHeads, class Heads, class Rows>
void move(Heads& heads_BHTD, Rows& rows_BTE, std::int64_t first_head) {
  if (heads_BHTD.size() == 0) return;
  with_real<float, bf16>(heads_BHTD.dtype(),
                         [&](auto zero) { move_as<kToHeads, decltype(zero)>(heads_BHTD, rows_BTE, first_head); });
}

// N = T D, the elements of a head.
template <class X>
void sum_heads_as(const Tensor& o_BHTD, Tensor& y_BTD) {
  std::int64_t B = o_BHTD.dim(0), H = o_BHTD.dim(1), N = o_BHTD.dim(2) * o_BHTD.dim(3);
  const X* o_BHN = o_BHTD.device_data<X>();
  X* y_BN = y_BTD.device_data<X>();
  for_each_element(B * N, [=] __device__(std::int64_t i) {
    const X* o_HN = o_BHN + i / N * H * N + i % N;
    float sum = 0;
    for (std::int64_t h = 0; h < H; ++h) sum += static_cast<float>(o_HN[h * N]);
    store(y_BN[i], sum);
  });
}

template <class X>
void sum_heads_backward_as(const Tensor& dy_BTD, Tensor& do_BHTD) {
  std::int64_t B = do_BHTD.dim(0), H = do_BHTD.dim(1), N = do_BHTD.dim(2) * do_BHTD.dim(3);
  const X* dy_BN = dy_BTD.device_data<X>();
  X* do_BHN = do_BHTD.device_data<X>();
  for_each_element(B * N, [=] __device__(std::int64_t i) {
    X* do_HN = do_BHN + i / N * H * N + i % N;
    for (std::int64_t h = 0; h < H; ++h) do_HN[h * N] = dy_BN[i];
  });
}

}  // namespace

void to_heads(const Tensor& rows_BTE, std::int64_t first_head, Tensor& heads_BHTD) {
  move<true>(heads_BHTD, rows_BTE, first_head);
}

void to_rows(const Tensor& heads_BHTD, std::int64_t first_head, Tensor& rows_BTE) {
  move<false>(heads_BHTD, rows_BTE, first_head);
}

void sum_heads(const Tensor& o_BHTD, Tensor& y_BTD) {
  with_real<float, bf16>(o_BHTD.dtype(), [&](auto zero) { sum_heads_as<decltype(zero)>(o_BHTD, y_BTD); });
}

void sum_heads_backward(const Tensor& dy_BTD, Tensor& do_BHTD) {
  with_real<float, bf16>(dy_BTD.dtype(), [&](auto zero) { sum_heads_backward_as<decltype(zero)>(dy_BTD, do_BHTD); });
}

}  // namespace sink::cuda
