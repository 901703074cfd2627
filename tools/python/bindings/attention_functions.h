// AttentionFunctions: the functions of attention.h for one operation as pointers, so that a program can choose an
// operation by its name, and load one that was compiled later (sinklab.torch.operation).
#pragma once

#include "engine/ops/attention/attention.h"
#include "engine/ops/attention/op/operation_name.h"
#include "engine/ops/attention/op/written_derivatives.h"

namespace sink::python {

// Arguments and results are those of attention.h.
struct AttentionFunctions {
  const char* name;
  void (*check)();  // throws Error for a wrong derivative that was written by hand
  void (*forward)(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD, const AttentionConfig& config,
                  Tensor& o_BHTD, Tensor& m_BHT, Tensor& S_BHT);
  AttentionGradients (*backward)(const Tensor& do_BHTD, const Tensor& q_BHTD, const Tensor& k_BGKD,
                                 const Tensor& v_BGKD, const Tensor& o_BHTD, const Tensor& m_BHT, const Tensor& S_BHT,
                                 const AttentionConfig& config);
  AttentionStatistics (*statistics)(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& v_BGKD,
                                    const Tensor& m_BHT, const Tensor& S_BHT,
                                    const AttentionConfig& config);  // of the first column
  AttentionKeySums (*key_sums)(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT, const Tensor& S_BHT,
                               const AttentionConfig& config);
};

template <class Op>
AttentionFunctions attention_functions() {
  return {.name = operation_name<Op>(),
          .check = [] { check_written_derivatives(Op()); },
          .forward = [](auto&... given) { attention<Op>(Op(), given...); },
          .backward = [](auto&... given) { return attention_backward<Op>(Op(), given...); },
          .statistics = [](auto&... given) { return attention_statistics<Op>(Op(), given..., 1); },
          .key_sums = [](auto&... given) { return attention_key_sums<Op>(Op(), given...); }};
}

}  // namespace sink::python
