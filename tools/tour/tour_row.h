// The row of attention that chapters 4, 8 and 9 of the tour work on: a query that sees four keys with the scores 2, 1,
// 0 and -1.
#pragma once

#include "engine/ops/attention/attention.h"

namespace sink::tour {

// One sequence, one head, one query at position 3 and the keys at 0 to 3, of width 4. Values are the unit vectors, so
// that the output of the query is its weights.
struct TourRow {
  Tensor q_BHTD = Tensor::from<double>({1, 1, 1, 4}, {1, 1, 1, 1});
  Tensor k_BGKD = Tensor::from<double>({1, 1, 4, 4}, {1, 1, 1, 1, 2, 0, 0, 0, 1, -1, 1, -1, -1, 0, -1, 0});
  Tensor v_BGKD = Tensor::from<double>({1, 1, 4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  AttentionConfig config{.scale = 0.5, .first_position = 3};  // scale: 1 / sqrt(4)
  Tensor o_BHTD = Tensor::empty_like(q_BHTD);
  Tensor m_BHT = Tensor::empty({1, 1, 1}, DType::F64), S_BHT = Tensor::empty_like(m_BHT);

  template <class Op>
  void forward(const Op& op) {
    attention(op, q_BHTD, k_BGKD, v_BGKD, config, o_BHTD, m_BHT, S_BHT);
  }
  template <class Op>
  AttentionGradients backward(const Op& op, const Tensor& do_BHTD) const {
    return attention_backward(op, do_BHTD, q_BHTD, k_BGKD, v_BGKD, o_BHTD, m_BHT, S_BHT, config);
  }
};

}  // namespace sink::tour
