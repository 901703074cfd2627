// The backward pass on the tensor cores, of biases by distance: a block has a head and all tiles of the map that lie on
// one diagonal of tiles. It sums each tile along its own diagonals.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

// The scores' gradients of a tile, in shared memory, where they are summed along its diagonals.
struct SharedGradients {
  using Number = float;
  static constexpr int kStride = kOwned + 1;
  static constexpr std::size_t kBytes = sizeof(float) * kOwned * kStride;

  int first;

  __device__ float& at(int row, int column) const { return shared_memory<float>()[first + row * kStride + column]; }
  // Over query r and key c with r - c = n - (kOwned - 1).
  __device__ float diagonal_sum(int n) const {
    int distance = n - (kOwned - 1);
    float sum = 0;
    for (int row = distance > 0 ? distance : 0; row < kOwned && row - distance < kOwned; ++row)
      sum += at(row, row - distance);
    return sum;
  }
};
inline constexpr int kDiagonals = 2 * kOwned - 1;  // of a tile

template <class Op, int kWidth>
struct BiasGradients {
  using Tile = SharedTile<kOwned, kWidth>;
  using Bias = SharedBias<kOwned, kOwned>;
  static constexpr std::size_t kBytes = 8 * Tile::kBytes + 2 * Bias::kBytes + SharedGradients::kBytes;

  const Op& op;
  const AttentionBackward<bf16>& in;
  int h;
  DoubleBuffer<Tile> q, grad_o, k, v;
  DoubleBuffer<Bias> bias;
  SharedGradients gradients;
  float sum = 0;  // of the diagonal that the thread has

  __device__ BiasGradients(const Op& op, const AttentionBackward<bf16>& in, int h) : op(op), in(in), h(h) {
    SharedMemoryAllocator room;
    room.place(q);
    room.place(grad_o);
    room.place(k);
    room.place(v);
    room.place(bias);
    room.place(gradients);
  }

  // All tiles whose query tile comes `apart` behind their key tile, of all sequences.
  __device__ void sum_tiles(int apart) {
    int T = static_cast<int>(in.a.T), K = static_cast<int>(in.a.K), first_key_tile = apart < 0 ? -apart : 0,
        query_tiles = (T + kOwned - 1) / kOwned, key_tiles = (K + kOwned - 1) / kOwned,
        end_key_tile = query_tiles - apart < key_tiles ? query_tiles - apart : key_tiles,
        tiles = end_key_tile > first_key_tile ? end_key_tile - first_key_tile : 0;
    auto load = [&](int n, int stage) {
      AttentionHead head(in.a, n / tiles, h);
      int first_key = (first_key_tile + n % tiles) * kOwned, first_t = first_key + apart * kOwned;
      q[stage].copy(head.query_row(in.a.q_BHTD, first_t), T - first_t, in.a.D);
      grad_o[stage].copy(head.query_row(in.do_BHTD, first_t), T - first_t, in.a.D);
      k[stage].copy(head.key_row(in.a.k_BGKD, first_key), K - first_key, in.a.D);
      v[stage].copy(head.key_row(in.a.v_BGKD, first_key), K - first_key, in.a.D);
      bias[stage].load(head, first_t, first_key);
    };
    with_two_stages(static_cast<int>(in.a.B) * tiles, load, [&](int n, int stage) {
      int first_key = (first_key_tile + n % tiles) * kOwned;
      put(AttentionHead(in.a, n / tiles, h), first_key + apart * kOwned, first_key, stage);
      sync_block();
      if (threadIdx.x < kDiagonals) sum += gradients.diagonal_sum(static_cast<int>(threadIdx.x));
    });
  }

  __device__ void put(const AttentionHead& head, int first_t, int first_key, int stage) {
    int row = static_cast<int>(threadIdx.x) / kWarp * 16;
    WarpSums16<kOwned> s[1], da[1];
    row_dots(s, q[stage], row, k[stage]);
    row_dots(da, grad_o[stage], row, v[stage]);
    ScorePlace<false, kOwned, kOwned> place(head, bias[stage], first_t, first_key, row);
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      int t = first_t + row + row_of_sum(2 * half), real = t < head.T ? t : head.T - 1;
      std::int64_t bht = head.first_query_row + real;
      AttentionWeights<Op> weights(op, in.m_BHT[bht], in.S_BHT[bht], head.range().count(real + head.shift, head.K));
      float through_sum = weights.through_sum(in.D_BHT[bht]);
      for_each_sum<kOwned>([&](int n, int e) {
        if (e / 2 != half) return;
        float ds = weights.ds(place.score(s[0][n][e], n, e), da[0][n][e], through_sum);
        gradients.at(row + row_of_sum(e), column_of_sum(n, e)) = place.sees(n, e) ? ds : 0;
      });
    }
  }
};

// sums_HAN: of head h, tiles that are A apart (from 1 - key tiles on) and diagonal n.
template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_dbias_kernel(Op op, AttentionBackward<bf16> in, int first_apart, float* sums_HAN) {
  BiasGradients<Op, kWidth> block(op, in, static_cast<int>(blockIdx.y));
  block.sum_tiles(first_apart + static_cast<int>(blockIdx.x));
  if (threadIdx.x < kDiagonals) sums_HAN[(blockIdx.y * gridDim.x + blockIdx.x) * kDiagonals + threadIdx.x] = block.sum;
}

// dbias_h[distance] out of those sums: all keys in a query's future are at distance 0.
void sum_diagonals(const Tensor& sums_HAN, std::int64_t first_apart, std::int64_t first_position, Tensor& dbias_HT);

template <class Op, int kWidth>
void bias_gradient_in_tiles(const Op& op, const AttentionBackward<bf16>& in, Tensor& dbias_HT) {
  auto tiles = [](std::int64_t count) { return (count + kOwned - 1) / kOwned; };
  std::int64_t first_apart = in.a.range.prefix > 0 ? 1 - tiles(in.a.K) : -tiles(in.a.first_position),
               count = tiles(in.a.T) - first_apart;
  Tensor sums = dbias_HT.new_empty({in.a.H, count, kDiagonals}, DType::F32);
  launch({dim3(static_cast<unsigned>(count), static_cast<unsigned>(in.a.H)), kTileThreads,
          BiasGradients<Op, kWidth>::kBytes},
         attention_tiles_dbias_kernel<Op, kWidth>, op, in, static_cast<int>(first_apart), sums.device_data<float>());
  sum_diagonals(sums, first_apart, in.a.first_position, dbias_HT);
}

}  // namespace sink::cuda
