// The front door of attention: checks the arguments and picks the reference or the fast kernel.
#include "engine/ops/attention/attention.h"

#include "engine/ops/attention/attention_backward_cpu.h"
#include "engine/ops/attention/attention_cpu.h"
#include "engine/ops/attention/attention_ref.h"
#include "engine/ops/attention/attention_statistics_cpu.h"
#include "engine/reference_switch.h"

namespace sink {
namespace {

constexpr const char* kTag = "attention";

void check_like(const Tensor& x, const char* name, const Tensor& q) {
  SINK_CHECK(x.shape() == q.shape() && x.dtype() == q.dtype(), kTag,
             std::string(name) + " must be like q: " + name + " is " + x.str() + ", q is " + q.str());
}
void check_row_numbers(const Tensor& x, const char* name, const Tensor& q) {
  DType dtype = q.dtype() == DType::F64 ? DType::F64 : DType::F32;
  SINK_CHECK(x.shape() == Shape({q.dim(0), q.dim(1), q.dim(2)}) && x.dtype() == dtype, kTag,
             std::string(name) + " must hold one " + name_of(dtype) + " number a query (B, H, T): " + name + " is " +
                 x.str() + ", q is " + q.str());
}
void check_query(const Tensor& q, const AttentionConfig& config) {
  SINK_CHECK(q.rank() == 4 && q.size() > 0 && q.dtype() != DType::I32, kTag,
             "q must be real numbers of shape (B, H, T, D), got " + q.str());
  SINK_CHECK(config.range.prefix >= 0 && config.range.window >= 0, kTag,
             "prefix and window must be at least 0, got " + std::to_string(config.range.prefix) + " and " +
                 std::to_string(config.range.window));
}

// The reference has no bf16 arithmetic: it computes in F32 and rounds its results.
Tensor widened(const Tensor& x) { return x.dtype() == DType::BF16 ? x.to(DType::F32) : x; }
void store(const Tensor& result, Tensor& x) {
  if (result.raw() != x.raw()) x.copy_from(result);
}

template <class F>
void with_reference_real(DType dtype, F&& f) {
  if (dtype == DType::F64) {
    f(double{});
  } else {
    f(float{});
  }
}
bool runs_reference(DType dtype) { return dtype == DType::F64 || use_reference(); }

}  // namespace

template <AttentionOp Op>
void attention(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD, const AttentionConfig& config,
               Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT) {
  check_query(q_BHTD, config);
  check_like(k_BHTD, "k", q_BHTD);
  check_like(v_BHTD, "v", q_BHTD);
  check_like(o_BHTD, "o", q_BHTD);
  check_row_numbers(m_BHT, "m", q_BHTD);
  check_row_numbers(S_BHT, "S", q_BHTD);
  if (runs_reference(q_BHTD.dtype())) {
    Tensor o = widened(o_BHTD);
    with_reference_real(q_BHTD.dtype(), [&](auto zero) {
      ref::attention<Op, decltype(zero)>(widened(q_BHTD), widened(k_BHTD), widened(v_BHTD), config, o, m_BHT, S_BHT);
    });
    store(o, o_BHTD);
  } else if (q_BHTD.dtype() == DType::BF16) {
    cpu::attention<Op, bf16>(q_BHTD, k_BHTD, v_BHTD, config, o_BHTD, m_BHT, S_BHT);
  } else {
    cpu::attention<Op, float>(q_BHTD, k_BHTD, v_BHTD, config, o_BHTD, m_BHT, S_BHT);
  }
}

template <AttentionOp Op>
void attention_backward(const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& v_BHTD,
                        const Tensor& o_BHTD, const Tensor& m_BHT, const Tensor& S_BHT, const AttentionConfig& config,
                        Tensor& dq_BHTD, Tensor& dk_BHTD, Tensor& dv_BHTD) {
  check_query(q_BHTD, config);
  check_like(do_BHTD, "do", q_BHTD);
  check_like(k_BHTD, "k", q_BHTD);
  check_like(v_BHTD, "v", q_BHTD);
  check_like(o_BHTD, "o", q_BHTD);
  check_row_numbers(m_BHT, "m", q_BHTD);
  check_row_numbers(S_BHT, "S", q_BHTD);
  check_like(dq_BHTD, "dq", q_BHTD);
  check_like(dk_BHTD, "dk", q_BHTD);
  check_like(dv_BHTD, "dv", q_BHTD);
  if (runs_reference(q_BHTD.dtype())) {
    Tensor dq = widened(dq_BHTD), dk = widened(dk_BHTD), dv = widened(dv_BHTD);
    with_reference_real(q_BHTD.dtype(), [&](auto zero) {
      ref::attention_backward<Op, decltype(zero)>(widened(do_BHTD), widened(q_BHTD), widened(k_BHTD), widened(v_BHTD),
                                                  widened(o_BHTD), m_BHT, S_BHT, config, dq, dk, dv);
    });
    store(dq, dq_BHTD);
    store(dk, dk_BHTD);
    store(dv, dv_BHTD);
  } else if (q_BHTD.dtype() == DType::BF16) {
    cpu::attention_backward<Op, bf16>(do_BHTD, q_BHTD, k_BHTD, v_BHTD, o_BHTD, m_BHT, S_BHT, config, dq_BHTD, dk_BHTD,
                                      dv_BHTD);
  } else {
    cpu::attention_backward<Op, float>(do_BHTD, q_BHTD, k_BHTD, v_BHTD, o_BHTD, m_BHT, S_BHT, config, dq_BHTD, dk_BHTD,
                                       dv_BHTD);
  }
}

template <AttentionOp Op>
AttentionStatistics attention_statistics(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& m_BHT,
                                         const Tensor& S_BHT, const AttentionConfig& config, std::int64_t n_columns) {
  check_query(q_BHTD, config);
  check_like(k_BHTD, "k", q_BHTD);
  check_row_numbers(m_BHT, "m", q_BHTD);
  check_row_numbers(S_BHT, "S", q_BHTD);
  std::int64_t B = q_BHTD.dim(0), H = q_BHTD.dim(1);
  SINK_CHECK(1 <= n_columns && n_columns <= q_BHTD.dim(2), kTag,
             "statistics of the first K columns need 1 <= K <= T, got K = " + std::to_string(n_columns) + ", q is " +
                 q_BHTD.str());
  AttentionStatistics statistics{
      Tensor::zeros({B, H, n_columns}, DType::F64),
      Tensor::zeros({B, H, n_columns}, DType::F64),
      Tensor::zeros({B, H}, DType::F64),
      Tensor::zeros({B, H}, DType::F64),
  };
  if (runs_reference(q_BHTD.dtype())) {
    with_reference_real(q_BHTD.dtype(), [&](auto zero) {
      ref::attention_statistics<Op, decltype(zero)>(widened(q_BHTD), widened(k_BHTD), m_BHT, S_BHT, config, statistics);
    });
  } else if (q_BHTD.dtype() == DType::BF16) {
    cpu::attention_statistics<Op, bf16>(q_BHTD, k_BHTD, m_BHT, S_BHT, config, statistics);
  } else {
    cpu::attention_statistics<Op, float>(q_BHTD, k_BHTD, m_BHT, S_BHT, config, statistics);
  }
  return statistics;
}

template <AttentionOp Op>
Tensor attention_map(const Tensor& q_BHTD, const Tensor& k_BHTD, const Tensor& m_BHT, const Tensor& S_BHT,
                     const AttentionConfig& config, std::int64_t b, std::int64_t h) {
  check_query(q_BHTD, config);
  check_like(k_BHTD, "k", q_BHTD);
  check_row_numbers(m_BHT, "m", q_BHTD);
  check_row_numbers(S_BHT, "S", q_BHTD);
  std::int64_t H = q_BHTD.dim(1), T = q_BHTD.dim(2), D = q_BHTD.dim(3);
  SINK_CHECK(0 <= b && b < q_BHTD.dim(0) && 0 <= h && h < H, kTag,
             "no sequence " + std::to_string(b) + ", head " + std::to_string(h) + " in q, which is " + q_BHTD.str());
  // One head as double tensors of shape (1, 1, T, D).
  auto head = [&](const Tensor& x) {
    return x.reshape({x.dim(0) * H, T, D}).rows(b * H + h, b * H + h + 1).reshape({1, 1, T, D}).to(DType::F64);
  };
  const Tensor q = head(q_BHTD), k = head(k_BHTD);
  Tensor a_TT = Tensor::zeros({T, T}, DType::F64);
  for (std::int64_t i = 0; i < T; ++i) {
    std::int64_t row = (b * H + h) * T + i;
    std::vector<double> a_i = ref::weight_row<Op, double>(ref::rows_of<double>(q), ref::rows_of<double>(k),
                                                          m_BHT.item(row), S_BHT.item(row), config, 0, 0, i);
    std::copy(a_i.begin(), a_i.end(), a_TT.data<double>() + i * T);
  }
  return a_TT;
}

#define SINK_ATTENTION_OP(Op)                                                                                        \
  template void attention<Op>(const Tensor&, const Tensor&, const Tensor&, const AttentionConfig&, Tensor&, Tensor&, \
                              Tensor&);                                                                              \
  template void attention_backward<Op>(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,    \
                                       const Tensor&, const Tensor&, const AttentionConfig&, Tensor&, Tensor&,       \
                                       Tensor&);                                                                     \
  template AttentionStatistics attention_statistics<Op>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,  \
                                                        const AttentionConfig&, std::int64_t);                       \
  template Tensor attention_map<Op>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,                      \
                                    const AttentionConfig&, std::int64_t, std::int64_t);
#include "engine/ops/attention/attention_ops.def"

}  // namespace sink
