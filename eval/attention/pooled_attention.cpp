#include "eval/attention/pooled_attention.h"

#include <algorithm>

#include "engine/tensor_view.h"
#include "engine/threads.h"

namespace sink {
namespace {

constexpr std::int64_t kMostBlocks = 128;

// Ones at the block of each key.
Tensor block_values(const Tensor& v_BGTD, std::int64_t cell) {
  Tensor values = Tensor::zeros(v_BGTD.shape(), DType::F32);
  const std::int64_t T = v_BGTD.dim(2), D = v_BGTD.dim(3);
  for (std::int64_t n = 0; n < v_BGTD.dim(1) * T; ++n) values.data<float>()[n * D + n % T / cell] = 1;
  return values.to(v_BGTD.dtype()).to(v_BGTD.device());
}

// Ones at the last element, which no block uses.
Tensor extra_values(std::int64_t H, const Tensor& v_BGTD) {
  const std::int64_t D = v_BGTD.dim(3);
  Tensor values = Tensor::zeros({H, D}, DType::F32);
  for (std::int64_t h = 0; h < H; ++h) values.data<float>()[(h + 1) * D - 1] = 1;
  return values.to(accumulate_type(v_BGTD.dtype())).to(v_BGTD.device());
}

}  // namespace

std::int64_t pooling_cell(const AttentionPoint& point) {
  const std::int64_t T = point.v_BGTD.dim(2), elements = point.v_BGTD.dim(3) - (point.has_extra_key ? 1 : 0);
  const std::int64_t blocks = std::clamp<std::int64_t>(elements, 1, kMostBlocks);
  return (T + blocks - 1) / blocks;
}

PooledAttention pooled_attention(const AttentionPoint& point, std::int64_t cell) {
  const std::int64_t H = point.q_BHTD.dim(1), T = point.v_BGTD.dim(2), D = point.v_BGTD.dim(3);
  const std::int64_t X = (T + cell - 1) / cell;
  const Tensor o_BHTD = point
                            .mix(point.k_BGTD, block_values(point.v_BGTD, cell),
                                 point.has_extra_key ? extra_values(H, point.v_BGTD) : Tensor())
                            .to(Device::cpu);
  PooledAttention pooled;
  pooled.weights_HXX.resize(static_cast<std::size_t>(H));
  pooled.share_HT.assign(static_cast<std::size_t>(H), std::vector<float>(static_cast<std::size_t>(T), 1));
  parallel_for(H, [&](std::int64_t head) {
    const auto h = static_cast<std::size_t>(head);
    const Tensor o_TD = o_BHTD.slice(head * T * D, {T, D}).to(DType::F64);
    Tensor weights_XX = Tensor::zeros({X, X}, DType::F64);
    for (std::int64_t i = 0; i < T; ++i) {
      const double* sums = o_TD.data<double>() + i * D;
      const double extra = point.has_extra_key ? sums[D - 1] : 0;
      double all = extra;
      for (std::int64_t x = 0; x < X; ++x) all += sums[x];
      if (all == 0) continue;
      const auto queries = static_cast<double>(std::min(cell, T - i / cell * cell));
      for (std::int64_t x = 0; x < X; ++x) weights_XX.data<double>()[i / cell * X + x] += sums[x] / all / queries;
      if (point.has_extra_key) pooled.share_HT[h][static_cast<std::size_t>(i)] = static_cast<float>(1 - extra / all);
    }
    pooled.weights_HXX[h] = weights_XX;
  });
  return pooled;
}

}  // namespace sink
