// An answer to exercise 0 of the tour.
#pragma once

#include "tests/support/one_file.h"

namespace sink::tour {

inline one_file::Operation softmax1() { return {"softmax1", std::exp, std::exp, true, 1}; }
inline one_file::Operation relu() {
  return {"relu", [](double s) { return std::max(s, 0.0); }, [](double s) { return double(s > 0); }, false};
}

inline bool gradients_are_right(const one_file::Operation& op) {
  one_file::Model model{op};
  const one_file::Task task;
  const one_file::Batch batch = task.batch(task.train, 0);
  one_file::cross_entropy(model.logits(batch), batch);
  for (auto function = one_file::tape.backward.rbegin(); function != one_file::tape.backward.rend(); ++function)
    (*function)();
  const double h = 1e-5, x = model.qkv.x[0], dx = model.qkv.dx[0];
  const auto loss_at = [&](double value) {
    model.qkv.x[0] = value;
    return one_file::cross_entropy(model.logits(batch), batch);
  };
  return std::abs((loss_at(x + h) - loss_at(x - h)) / (2 * h) - dx) < 1e-3 * std::abs(dx);
}

inline double sink_1(one_file::Model& model, const one_file::Task& task, double epsilon) {
  using one_file::B, one_file::H, one_file::T;
  const one_file::Batch batch = task.batch(task.validation, 0);
  model.logits(batch);
  double sinks = 0;
  for (int head = 0; head < B * H; ++head) {
    double alpha = 0;
    for (int i = 0; i < T; ++i) alpha += model.a[std::size_t((head * T + i) * T)] / T;
    sinks += alpha > epsilon;
  }
  return 100 * sinks / (B * H);
}

inline one_file::Tensor& without_positions(one_file::Tensor& qkv) {
  one_file::Tensor& y = one_file::tape.make(one_file::N, qkv.width);
  y.x = qkv.x;
  one_file::tape.backward.push_back([&] {
    for (std::size_t i = 0; i < y.dx.size(); ++i) qkv.dx[i] += y.dx[i];
  });
  return y;
}

}  // namespace sink::tour
