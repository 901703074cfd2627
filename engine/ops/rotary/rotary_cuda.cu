// CUDA backend: rotary embedding of F32 and BF16, computed in float.
#include "engine/ops/rotary/rotary.h"

#include <algorithm>
#include <type_traits>

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"
#include "engine/ops/rotary/rotary_math.h"

namespace sink::cuda {
namespace {

// RotaryTable::row on the device.
struct TableRow {
  const std::int32_t* positions_BT;
  std::int64_t T;

  TableRow(const RotaryTable& table, std::int64_t T)
      : positions_BT(data_or_null<std::int32_t>(table.positions_BT)), T(T) {}
  __device__ std::int64_t operator()(std::int64_t b, std::int64_t t) const {
    return positions_BT ? positions_BT[b * T + t] : t;
  }
};

// A thread rotates a pair of elements or copies one other element, so y may be x. A row of D has E pairs, then D - 2E
// other elements.
template <class X>
void rotate_rows(const Tensor& x_BHTD, const RotaryTable& table, float sign, Tensor& y_BHTD) {
  std::int64_t T = x_BHTD.dim(2), D = x_BHTD.dim(3), E = table.cos_TE.dim(1), items = D - E;
  std::int64_t H = x_BHTD.dim(1), rows = x_BHTD.dim(0) * H * T;
  TableRow table_row(table, T);
  const X* x = x_BHTD.device_data<X>();
  const float *cos = table.cos_TE.device_data<float>(), *sin = table.sin_TE.device_data<float>();
  X* y = y_BHTD.device_data<X>();
  for_each_element(rows * items, [=] __device__(std::int64_t i) {
    std::int64_t row = i / items, e = i % items;
    const X* x_D = x + row * D;
    X* y_D = y + row * D;
    if (e < E) {
      std::int64_t angle = table_row(row / T / H, row % T) * E + e;
      auto [first, second] =
          rotate(static_cast<float>(x_D[e]), static_cast<float>(x_D[e + E]), cos[angle], sign * sin[angle]);
      store(y_D[e], first);
      store(y_D[e + E], second);
    } else {
      y_D[e + E] = x_D[e + E];
    }
  });
}

// Heads of queries, keys and values; X is const for inputs.
template <class X>
struct SplitHeads {
  X *q_BHTD, *k_BGTD, *v_BGTD;
  std::int64_t H, G, T, D;

  // The D elements of head `head` of a row (queries first) at position t of sequence b.
  __device__ X* row(std::int64_t b, std::int64_t t, std::int64_t head) const {
    if (head < H) return q_BHTD + ((b * H + head) * T + t) * D;
    X* heads = head < H + G ? k_BGTD : v_BGTD;
    return heads + ((b * G + (head - H) % G) * T + t) * D;
  }
};

// One block per position. Per head, a thread rotates N pairs or copies N other elements, as in rotate_rows; pairs of
// values are copied.
template <int N, bool kToHeads, class Rows, class Heads>
__global__ void split_rotary_kernel(Rows* rows_BTE, SplitHeads<Heads> heads, const float* cos_TE, const float* sin_TE,
                                    std::int64_t E, TableRow table_row) {
  std::int64_t position = blockIdx.x, b = position / heads.T, t = position % heads.T, D = heads.D;
  std::int64_t angles = table_row(b, t) * E;
  int items = static_cast<int>((D - E) / N), row_heads = static_cast<int>(heads.H + 2 * heads.G);
  for (int i = static_cast<int>(threadIdx.x); i < row_heads * items; i += static_cast<int>(blockDim.x)) {
    std::int64_t head = i / items, e = i % items * N;
    Rows* row_D = rows_BTE + (position * row_heads + head) * D;
    Heads* head_D = heads.row(b, t, head);
    auto move = [&](const auto* from_D, auto* to_D) {
      auto second = load_floats<N>(from_D + E + e);
      if (e < E) {
        auto first = load_floats<N>(from_D + e);
        if (head < heads.H + heads.G) {
          auto cos = load_vector<N>(cos_TE + angles + e), sin = load_vector<N>(sin_TE + angles + e);
          for (int n = 0; n < N; ++n) {
            auto pair = rotate(first[n], second[n], cos[n], kToHeads ? sin[n] : -sin[n]);
            first[n] = pair.first;
            second[n] = pair.second;
          }
        }
        store_vector(to_D + e, first);
      }
      store_vector(to_D + E + e, second);
    };
    if constexpr (kToHeads)
      move(row_D, head_D);
    else
      move(head_D, row_D);
  }
}

template <bool kToHeads, class X, class Rows, class Heads>
void split_as(Rows& rows_BTE, Heads& q_BHTD, Heads& k_BGTD, Heads& v_BGTD, const RotaryTable& table) {
  std::int64_t D = q_BHTD.dim(3), E = table.cos_TE.dim(1), positions = q_BHTD.dim(0) * q_BHTD.dim(2);
  auto* rows = rows_BTE.template device_data<X>();
  auto* q = q_BHTD.template device_data<X>();
  SplitHeads<std::remove_pointer_t<decltype(q)>> heads{q,
                                                       k_BGTD.template device_data<X>(),
                                                       v_BGTD.template device_data<X>(),
                                                       q_BHTD.dim(1),
                                                       k_BGTD.dim(1),
                                                       q_BHTD.dim(2),
                                                       D};
  const float *cos = table.cos_TE.device_data<float>(), *sin = table.sin_TE.device_data<float>();
  if (positions == 0 || D == 0) return;
  constexpr int kWidth = kVector<X>;
  bool vectors =
      in_vectors<kWidth>(D, rows, heads.q_BHTD, heads.k_BGTD, heads.v_BGTD) && in_vectors<kWidth>(E, cos, sin);
  with_vectors<kWidth>(vectors, [&](auto width) {
    constexpr int N = decltype(width)::value;
    std::int64_t items = (heads.H + 2 * heads.G) * (D - E) / N;
    unsigned threads = std::min(blocks_for(items, kWarp) * kWarp, 256u);
    launch({static_cast<unsigned>(positions), threads},
           split_rotary_kernel<N, kToHeads, std::remove_pointer_t<decltype(rows)>, std::remove_pointer_t<decltype(q)>>,
           rows, heads, cos, sin, E, TableRow(table, heads.T));
  });
}

}  // namespace

void rotary(const Tensor& x_BHTD, const RotaryTable& table, bool inverse, Tensor& y_BHTD) {
  with_real<float, bf16>(x_BHTD.dtype(),
                         [&](auto zero) { rotate_rows<decltype(zero)>(x_BHTD, table, inverse ? -1 : 1, y_BHTD); });
}

void split_rotary(const Tensor& qkv_BTE, const RotaryTable& table, Tensor& q_BHTD, Tensor& k_BGTD, Tensor& v_BGTD) {
  with_real<float, bf16>(qkv_BTE.dtype(),
                         [&](auto zero) { split_as<true, decltype(zero)>(qkv_BTE, q_BHTD, k_BGTD, v_BGTD, table); });
}

void split_rotary_backward(const Tensor& dq_BHTD, const Tensor& dk_BGTD, const Tensor& dv_BGTD,
                           const RotaryTable& table, Tensor& dqkv_BTE) {
  with_real<float, bf16>(dqkv_BTE.dtype(), [&](auto zero) {
    split_as<false, decltype(zero)>(dqkv_BTE, dq_BHTD, dk_BGTD, dv_BGTD, table);
  });
}

}  // namespace sink::cuda
