// An answer to exercise 6 of the tour.
#pragma once

#include <cmath>

namespace sink::tour {

struct Weight {
  double w, m, v;
};

inline Weight updated(const Weight& before, double dw, int update, double learning_rate, double weight_decay,
                      double beta1, double beta2, double epsilon) {
  Weight after;
  after.m = beta1 * before.m + (1 - beta1) * dw;
  after.v = beta2 * before.v + (1 - beta2) * dw * dw;
  double m_hat = after.m / (1 - std::pow(beta1, update)), v_hat = after.v / (1 - std::pow(beta2, update));
  after.w = before.w * (1 - learning_rate * weight_decay) - learning_rate * m_hat / (std::sqrt(v_hat) + epsilon);
  return after;
}

}  // namespace sink::tour
