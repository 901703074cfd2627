// CUDA backend: the gated delta rule in F32 and BF16, computed in float; a thread for each column of a state, and
// backward one for each key head of a sequence, which is slow.
#include "engine/ops/delta_rule/delta_rule.h"

#include "engine/cuda/elements.cuh"
#include "engine/ops/delta_rule/delta_rule_math.h"

namespace sink::cuda {
namespace {

template <class X>
DeltaOperands<float, X> operands_of(const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH,
                                    const Tensor& log_rate_H, const Tensor& bias_H, const DeltaHeads& heads) {
  return {qkv_BTE.device_data<X>(),
          a_BTH.device_data<X>(),
          b_BTH.device_data<X>(),
          log_rate_H.device_data<float>(),
          bias_H.device_data<float>(),
          qkv_BTE.dim(1),
          heads};
}

template <class X>
void forward(const DeltaOperands<float, X>& operands, Tensor& state_BHDD, Tensor& o_BTE) {
  float* state = state_BHDD.device_data<float>();
  X* o = o_BTE.device_data<X>();
  for_each_element(state_BHDD.size() / operands.heads.key_width, [=] __device__(std::int64_t n) {
    const std::int64_t H = operands.heads.heads, K = operands.heads.key_width, D = operands.heads.value_width;
    const std::int64_t head = n / D, j = n % D;
    float u[2];
    delta_rule_columns(operands, head / H, head % H, j, j + 1, state + head * K * D, u, o);
  });
}

template <class X>
void backward(const DeltaOperands<float, X>& operands, const DeltaGradients<float, X>& gradients, Tensor& scratch_GN) {
  float* scratch = scratch_GN.device_data<float>();
  const std::int64_t of_group = scratch_GN.dim(1);
  for_each_element(scratch_GN.dim(0), [=] __device__(std::int64_t n) {
    const std::int64_t G = operands.heads.key_heads;
    delta_rule_group_backward(operands, gradients, n / G, n % G, scratch + n * of_group);
  });
}

}  // namespace

void delta_rule(const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH, const Tensor& log_rate_H,
                const Tensor& bias_H, const DeltaHeads& heads, Tensor& state_BHDD, Tensor& o_BTE) {
  with_real<float, bf16>(qkv_BTE.dtype(), [&]<class X>(X) {
    forward<X>(operands_of<X>(qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads), state_BHDD, o_BTE);
  });
}

void delta_rule_backward(const Tensor& do_BTE, const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH,
                         const Tensor& log_rate_H, const Tensor& bias_H, const DeltaHeads& heads, Tensor& dqkv_BTE,
                         Tensor& da_BTH, Tensor& db_BTH, Tensor& dlog_rate_BH, Tensor& dbias_BH) {
  Tensor scratch_GN =
      qkv_BTE.new_empty({qkv_BTE.dim(0) * heads.key_heads, delta_scratch(qkv_BTE.dim(1), heads)}, DType::F32);
  with_real<float, bf16>(qkv_BTE.dtype(), [&]<class X>(X) {
    backward<X>(operands_of<X>(qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads),
                {do_BTE.device_data<X>(), dqkv_BTE.device_data<X>(), da_BTH.device_data<X>(), db_BTH.device_data<X>(),
                 dlog_rate_BH.device_data<float>(), dbias_BH.device_data<float>()},
                scratch_GN);
  });
}

}  // namespace sink::cuda
