// CPU backend: the gated delta rule in F32 and BF16, computed in float; heads are shared among threads.
#include "engine/ops/delta_rule/delta_rule.h"

#include <vector>

#include "engine/ops/delta_rule/delta_rule_math.h"
#include "engine/threads.h"

namespace sink::cpu {
namespace {

template <class X>
DeltaOperands<float, X> operands_of(const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH,
                                    const Tensor& log_rate_H, const Tensor& bias_H, const DeltaHeads& heads) {
  return {qkv_BTE.data<X>(),
          a_BTH.data<X>(),
          b_BTH.data<X>(),
          log_rate_H.data<float>(),
          bias_H.data<float>(),
          qkv_BTE.dim(1),
          heads};
}

}  // namespace

void delta_rule(const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH, const Tensor& log_rate_H,
                const Tensor& bias_H, const DeltaHeads& heads, Tensor& state_BHDD, Tensor& o_BTE) {
  const std::int64_t H = heads.heads, D = heads.value_width;
  with_real<float, bf16>(qkv_BTE.dtype(), [&]<class X>(X) {
    const auto operands = operands_of<X>(qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads);
    parallel_for(qkv_BTE.dim(0) * H, [&](std::int64_t n) {
      std::vector<float> u(static_cast<std::size_t>(2 * D));
      delta_rule_columns(operands, n / H, n % H, 0, D, state_BHDD.data<float>() + n * heads.key_width * D, u.data(),
                         o_BTE.data<X>());
    });
  });
}

void delta_rule_backward(const Tensor& do_BTE, const Tensor& qkv_BTE, const Tensor& a_BTH, const Tensor& b_BTH,
                         const Tensor& log_rate_H, const Tensor& bias_H, const DeltaHeads& heads, Tensor& dqkv_BTE,
                         Tensor& da_BTH, Tensor& db_BTH, Tensor& dlog_rate_BH, Tensor& dbias_BH) {
  const std::int64_t G = heads.key_heads;
  with_real<float, bf16>(qkv_BTE.dtype(), [&]<class X>(X) {
    const auto operands = operands_of<X>(qkv_BTE, a_BTH, b_BTH, log_rate_H, bias_H, heads);
    const DeltaGradients<float, X> gradients{do_BTE.data<X>(), dqkv_BTE.data<X>(),         da_BTH.data<X>(),
                                             db_BTH.data<X>(), dlog_rate_BH.data<float>(), dbias_BH.data<float>()};
    parallel_for(qkv_BTE.dim(0) * G, [&](std::int64_t n) {
      std::vector<float> scratch(static_cast<std::size_t>(delta_scratch(qkv_BTE.dim(1), heads)));
      delta_rule_group_backward(operands, gradients, n / G, n % G, scratch.data());
    });
  });
}

}  // namespace sink::cpu
