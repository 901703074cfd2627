// The gradient of the biases by distance in BF16: a block has one head and all tiles of scores on one diagonal of
// tiles. It sums each tile along the diagonals of its elements.
#pragma once

#include "engine/ops/attention/cuda/attention_tiles_cuda.cuh"

namespace sink::cuda {

inline constexpr int kDiagonals = 2 * kBlockRows - 1;  // of a tile

// ds_ij of a tile. The padded rows avoid bank conflicts.
struct SharedGradients : SharedFloats<kBlockRows*(kBlockRows + 1)> {
  __device__ float& at(int row, int column) const { return SharedFloats::at(row * (kBlockRows + 1) + column); }
  // The sum over query r and key c with r - c = n - (kBlockRows - 1).
  __device__ float diagonal_sum(int n) const {
    int distance = n - (kBlockRows - 1);
    float sum = 0;
    for (int row = distance > 0 ? distance : 0; row < kBlockRows && row - distance < kBlockRows; ++row)
      sum += at(row, row - distance);
    return sum;
  }
};

template <class Op, int kWidth>
struct DbiasBlock {
  using Tile = SharedTile<kBlockRows, kWidth>;
  using Bias = SharedBias<kBlockRows, kBlockRows>;
  // One buffer per tensor, 82 KB in all at width 128; two buffers would take 146 KB. The next tile is copied while the
  // diagonals of this one are summed.
  static constexpr std::size_t kBytes = 4 * Tile::kBytes + Bias::kBytes + SharedGradients::kBytes;
  static_assert(kBytes <= kMaxSharedBytes);

  const Op& op;
  const AttentionBackward<bf16>& in;
  int h;
  Tile q, grad_o, k, v;
  Bias bias;
  SharedGradients gradients;
  float sum = 0;  // of the thread's diagonal

  __device__ DbiasBlock(const Op& op, const AttentionBackward<bf16>& in, int h) : op(op), in(in), h(h) {
    allocate_shared(q, grad_o, k, v, bias, gradients);
  }

  // Sums the tiles on diagonal `offset` of all sequences: those whose query tile is key tile + offset.
  __device__ void sum_tiles(int offset) {
    int T = static_cast<int>(in.a.T), K = static_cast<int>(in.a.K), first_key_tile = offset < 0 ? -offset : 0,
        query_tiles = (T + kBlockRows - 1) / kBlockRows, key_tiles = (K + kBlockRows - 1) / kBlockRows,
        end_key_tile = query_tiles - offset < key_tiles ? query_tiles - offset : key_tiles,
        tiles = end_key_tile > first_key_tile ? end_key_tile - first_key_tile : 0;
    int count = static_cast<int>(in.a.B) * tiles;
    auto load = [&](int n) {
      AttentionHead head(in.a, n / tiles, h);
      int first_key = (first_key_tile + n % tiles) * kBlockRows, first_t = first_key + offset * kBlockRows;
      q.copy(head.query_row(in.a.q_BHTD, first_t), T - first_t, in.a.D);
      grad_o.copy(head.query_row(in.do_BHTD, first_t), T - first_t, in.a.D);
      k.copy(head.key_row(in.a.k_BGKD, first_key), K - first_key, in.a.D);
      v.copy(head.key_row(in.a.v_BGKD, first_key), K - first_key, in.a.D);
      bias.load(head, first_t, first_key);
      cp_async_commit_group();
    };
    if (count > 0) load(0);
    for (int n = 0; n < count; ++n) {
      cp_async_wait_group<0>();
      sync_block();
      int first_key = (first_key_tile + n % tiles) * kBlockRows;
      compute_ds(AttentionHead(in.a, n / tiles, h), first_key + offset * kBlockRows, first_key);
      sync_block();
      if (n + 1 < count) load(n + 1);
      if (threadIdx.x < kDiagonals) sum += gradients.diagonal_sum(static_cast<int>(threadIdx.x));
    }
  }

  // Stores ds_ij of a tile in shared memory.
  __device__ void compute_ds(const AttentionHead& head, int first_t, int first_key) {
    int row = warp_row();
    AccumulatorFragment<kBlockRows> s[1], da[1];
    multiply_transposed<kBlockRows>(s, q, row, k);
    multiply_transposed<kBlockRows>(da, grad_o, row, v);
    ScoreTile<false, kBlockRows, kBlockRows> scores(head, bias, first_t, first_key, row);
    SINK_UNROLL
    for (int half = 0; half < 2; ++half) {
      int t = first_t + row + fragment_row(2 * half), clamped_t = t < head.T ? t : head.T - 1;
      int bht = head.first_query_row + clamped_t;
      AttentionWeights<Op> weights(op, FastFloat(in.m_BHT[bht]), FastFloat(in.inverse_z_BHT[bht]));
      float dz_D = in.dz_D_BHT[bht];
      for_each_accumulator<kBlockRows>([&](int n, int e) {
        if (e / 2 != half) return;
        float ds = weights.ds(scores.score(s[0][n][e], n, e), da[0][n][e], dz_D);
        gradients.at(row + fragment_row(e), fragment_column(n, e)) = scores.sees(n, e) ? ds : 0;
      });
    }
  }
};

// sums_HAN[h][a][n]: head h, tile diagonal first_offset + a, diagonal n of the elements.
template <class Op, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    attention_tiles_dbias_kernel(Op op, AttentionBackward<bf16> in, int first_offset, float* sums_HAN) {
  DbiasBlock<Op, kWidth> block(op, in, static_cast<int>(blockIdx.y));
  block.sum_tiles(first_offset + static_cast<int>(blockIdx.x));
  if (threadIdx.x < kDiagonals) sums_HAN[(blockIdx.y * gridDim.x + blockIdx.x) * kDiagonals + threadIdx.x] = block.sum;
}

// dbias_h[distance] from those sums. Distance 0 includes all keys after the query.
void sum_diagonals(const Tensor& sums_HAN, std::int64_t first_offset, std::int64_t first_position, Tensor& dbias_HT);

template <class Op, int kWidth>
void bias_gradient_in_tiles(const Op& op, const AttentionBackward<bf16>& in, Tensor& dbias_HT) {
  auto tiles = [](std::int64_t count) { return (count + kBlockRows - 1) / kBlockRows; };
  std::int64_t first_offset = in.a.range.prefix > 0 ? 1 - tiles(in.a.K) : -tiles(in.a.first_position),
               count = tiles(in.a.T) - first_offset;
  Tensor sums = dbias_HT.new_empty({in.a.H, count, kDiagonals}, DType::F32);
  launch(
      {dim3(static_cast<unsigned>(count), static_cast<unsigned>(in.a.H)), kTileThreads, DbiasBlock<Op, kWidth>::kBytes},
      attention_tiles_dbias_kernel<Op, kWidth>, op, in, static_cast<int>(first_offset), sums.device_data<float>());
  sum_diagonals(sums, first_offset, in.a.first_position, dbias_HT);
}

}  // namespace sink::cuda
