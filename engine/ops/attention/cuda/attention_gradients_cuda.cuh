// What the backward passes in F32 and in BF16 share: their buffers, and the gradients of the extra key, which are sums
// of the queries' contributions.
#pragma once

#include "engine/cuda/column_sums.cuh"
#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/cuda/attention_cuda.cuh"

namespace sink::cuda {

// Sums the gradients of the extra key from ds_i* and a_i* of every query i.
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

// launch_kernels(in, gradients, extra_ds_BHT, extra_a_BHT) computes 1 / z, z' D, dq, dk, dv, dbias and, for an extra
// key, the last two.
template <class X, class Launch>
AttentionGradients backward_with(const Tensor& grad_o, const Tensor& q, const Tensor& k, const Tensor& v,
                                 const Tensor& o, const Tensor& m, const Tensor& S, const AttentionConfig& config,
                                 Launch launch_kernels) {
  AttentionGradients gradients = attention_check::empty_gradients(q, k, config);
  if (!config.bias_gradient) gradients.dbias_HT = Tensor();
  Tensor inverse_z = Tensor::empty_like(m), dz_D = Tensor::empty_like(m), extra_ds, extra_a;
  if (config.extra_key.present()) extra_ds = Tensor::empty_like(m), extra_a = Tensor::empty_like(m);
  AttentionBackward<X> in{attention_arguments<X>(q, k, v, config),
                          grad_o.device_data<X>(),
                          o.device_data<X>(),
                          m.device_data<float>(),
                          S.device_data<float>(),
                          inverse_z.device_data<float>(),
                          dz_D.device_data<float>()};
  launch_kernels(in, gradients, data_or_null(extra_ds), data_or_null(extra_a));
  if (config.extra_key.present()) sum_extra_gradients(in, extra_ds, extra_a, gradients);
  return gradients;
}

}  // namespace sink::cuda
