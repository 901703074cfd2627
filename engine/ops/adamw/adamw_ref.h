// AdamW on elements [begin, end); the caller has folded the step's constants.
#pragma once

#include <cmath>
#include <cstdint>

namespace sink::ref {

template <class R>
struct AdamwConstants {
  R gradient_scale, beta1, beta2, one_minus_beta1, one_minus_beta2;
  R keep;               // 1 - learning_rate weight_decay
  R step_size;          // learning_rate / (1 - beta1^step)
  R second_correction;  // 1 / sqrt(1 - beta2^step)
  R epsilon;
};

template <class R>
void adamw(const AdamwConstants<R>& k, const R* dw, R* w, R* m, R* v, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    R g = dw[i] * k.gradient_scale;
    R m_i = k.beta1 * m[i] + k.one_minus_beta1 * g;
    R v_i = k.beta2 * v[i] + k.one_minus_beta2 * g * g;
    m[i] = m_i;
    v[i] = v_i;
    w[i] = w[i] * k.keep - k.step_size * m_i / (std::sqrt(v_i) * k.second_correction + k.epsilon);
  }
}

}  // namespace sink::ref
