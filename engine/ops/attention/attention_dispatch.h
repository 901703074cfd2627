// The front door of attention: checks the arguments and picks the reference or the fast kernel. Included only by the
// source files that CMakeLists.txt makes, one for each line of attention_ops.def, which compile one operation each.
#pragma once

#include "engine/ops/attention/attention_backward_cpu.h"
#include "engine/ops/attention/attention_check.h"
#include "engine/ops/attention/attention_cpu.h"
#include "engine/ops/attention/attention_ref.h"
#include "engine/ops/attention/attention_statistics_cpu.h"
#include "engine/reference_switch.h"

namespace sink {

// f with a zero of the type the reference computes in. It has no bf16 arithmetic: it takes F32 and rounds its results.
template <class F>
void with_reference_real(DType dtype, F&& f) {
  if (dtype == DType::F64) {
    f(double{});
  } else {
    f(float{});
  }
}
inline Tensor widened(const Tensor& x) { return x.dtype() == DType::BF16 ? x.to(DType::F32) : x; }
inline bool runs_reference(DType dtype) { return dtype == DType::F64 || use_reference(); }

template <AttentionOp Op>
void attention(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& v_BGTD,
               const AttentionConfig& config, Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  attention_check::inputs(q_BHTD, k_BGTD, config);
  attention_check::like(v_BGTD, "v", k_BGTD, "k");
  attention_check::like(o_BHTD, "o", q_BHTD, "q");
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  if (runs_reference(q_BHTD.dtype())) {
    Tensor o = widened(o_BHTD);
    with_reference_real(q_BHTD.dtype(), [&](auto zero) {
      ref::attention<Op, decltype(zero)>(op, widened(q_BHTD), widened(k_BGTD), widened(v_BGTD), config, o, m_BHT,
                                         S_BHT);
    });
    if (o.raw() != o_BHTD.raw()) o_BHTD.copy_from(o);
  } else if (q_BHTD.dtype() == DType::BF16) {
    cpu::attention<Op, bf16>(op, q_BHTD, k_BGTD, v_BGTD, config, o_BHTD, m_BHT, S_BHT);
  } else {
    cpu::attention<Op, float>(op, q_BHTD, k_BGTD, v_BGTD, config, o_BHTD, m_BHT, S_BHT);
  }
}

template <AttentionOp Op>
AttentionGradients attention_backward(const Op& op, const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGTD,
                                      const Tensor& v_BGTD, const Tensor& o_BHTD, const Tensor& m_BHT,
                                      const Tensor& S_BHT, const AttentionConfig& config) {
  attention_check::inputs(q_BHTD, k_BGTD, config);
  attention_check::like(v_BGTD, "v", k_BGTD, "k");
  attention_check::like(do_BHTD, "do", q_BHTD, "q");
  attention_check::like(o_BHTD, "o", q_BHTD, "q");
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  if (q_BHTD.dtype() == DType::BF16 && !use_reference())
    return cpu::attention_backward<Op, bf16>(op, do_BHTD, q_BHTD, k_BGTD, v_BGTD, o_BHTD, m_BHT, S_BHT, config);
  if (q_BHTD.dtype() == DType::F32 && !use_reference())
    return cpu::attention_backward<Op, float>(op, do_BHTD, q_BHTD, k_BGTD, v_BGTD, o_BHTD, m_BHT, S_BHT, config);
  AttentionGradients gradients;
  with_reference_real(q_BHTD.dtype(), [&](auto zero) {
    using R = decltype(zero);
    gradients = attention_check::empty_gradients(q_BHTD, k_BGTD, config, dtype_of<R>);
    ref::attention_backward<Op, R>(op, widened(do_BHTD), widened(q_BHTD), widened(k_BGTD), widened(v_BGTD), m_BHT,
                                   S_BHT, config, gradients);
  });
  for (Tensor* x : {&gradients.dq_BHTD, &gradients.dk_BGTD, &gradients.dv_BGTD}) *x = x->to(q_BHTD.dtype());
  return gradients;
}

template <AttentionOp Op>
AttentionStatistics attention_statistics(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& m_BHT,
                                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t n_columns) {
  attention_check::inputs(q_BHTD, k_BGTD, config);
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  attention_check::columns(n_columns, q_BHTD);
  AttentionStatistics statistics = attention_check::zero_statistics(q_BHTD, n_columns);
  if (runs_reference(q_BHTD.dtype())) {
    with_reference_real(q_BHTD.dtype(), [&](auto zero) {
      ref::attention_statistics<Op, decltype(zero)>(op, widened(q_BHTD), widened(k_BGTD), m_BHT, S_BHT, config,
                                                    statistics);
    });
  } else if (q_BHTD.dtype() == DType::BF16) {
    cpu::attention_statistics<Op, bf16>(op, q_BHTD, k_BGTD, m_BHT, S_BHT, config, statistics);
  } else {
    cpu::attention_statistics<Op, float>(op, q_BHTD, k_BGTD, m_BHT, S_BHT, config, statistics);
  }
  return statistics;
}

template <AttentionOp Op>
Tensor attention_map(const Op& op, const Tensor& q_BHTD, const Tensor& k_BGTD, const Tensor& m_BHT, const Tensor& S_BHT,
                     const AttentionConfig& config, std::int64_t b, std::int64_t h) {
  attention_check::inputs(q_BHTD, k_BGTD, config);
  attention_check::rows(m_BHT, S_BHT, q_BHTD);
  attention_check::head(b, h, q_BHTD);
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2), E = config.slot.present() ? 1 : 0;
  const Tensor q = attention_check::one_head(q_BHTD, b, h);
  const Tensor k = attention_check::one_head(k_BGTD, b, h / (H / k_BGTD.dim(1)));
  const AttentionConfig config_of_head = attention_check::one_head(config, h);
  ref::Head<double> head(q, k, k, config_of_head, 0);
  Tensor a = Tensor::empty({T, E + T}, DType::F64);
  for (std::int64_t i = 0; i < T; ++i) {
    std::int64_t row = (b * H + h) * T + i;
    std::vector<double> a_i = ref::weight_row(op, head, m_BHT.item(row), S_BHT.item(row), 0, 0, i);
    std::copy(a_i.begin(), a_i.end(), a.data<double>() + i * (E + T));
  }
  return a;
}

}  // namespace sink
