// Which gradients there are on the CUDA device, and those of an extra key: sums, over sequences and positions, of what
// every query wrote down.
#pragma once

#include "engine/cuda/column_sums.cuh"
#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/cuda/attention_cuda.cuh"

namespace sink::cuda {

// As attention_check's, without a gradient of biases that nobody wants.
inline AttentionGradients empty_gradients(const Tensor& q, const Tensor& k, const AttentionConfig& config) {
  AttentionGradients gradients = attention_check::empty_gradients(q, k, config);
  if (!config.bias_gradient) gradients.dbias_HT = Tensor();
  return gradients;
}

// ds_i* and a_i* of every query i, in BHT.
template <class X>
void sum_extra_gradients(const AttentionBackward<X>& in, const Tensor& extra_ds, const Tensor& extra_a,
                         AttentionGradients& gradients) {
  std::int64_t H = in.a.H, T = in.a.T, D = in.a.D, rows = in.a.B * T;
  const float *ds = extra_ds.device_data<float>(), *weights = extra_a.device_data<float>();
  const X *q = in.a.q_BHTD, *grad_o = in.do_BHTD;
  float scale = in.a.scale;
  auto bht = [=] __device__(std::int64_t bt, std::int64_t h) { return (bt / T * H + h) * T + bt % T; };
  if (gradients.dextra_k_HD.defined())
    column_sums(
        rows, H * D,
        [=] __device__(std::int64_t bt, std::int64_t hd) {
          std::int64_t row = bht(bt, hd / D);
          return scale * ds[row] * static_cast<float>(q[row * D + hd % D]);
        },
        gradients.dextra_k_HD.device_data<float>(), false);
  if (gradients.dextra_v_HD.defined())
    column_sums(
        rows, H * D,
        [=] __device__(std::int64_t bt, std::int64_t hd) {
          std::int64_t row = bht(bt, hd / D);
          return weights[row] * static_cast<float>(grad_o[row * D + hd % D]);
        },
        gradients.dextra_v_HD.device_data<float>(), false);
  if (gradients.dextra_logit_H.defined())
    column_sums(
        rows, H, [=] __device__(std::int64_t bt, std::int64_t h) { return ds[bht(bt, h)]; },
        gradients.dextra_logit_H.device_data<float>(), false);
}

}  // namespace sink::cuda
