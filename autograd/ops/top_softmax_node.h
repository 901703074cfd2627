// p = softmax over the k largest elements of every row, 0 for the others.
#pragma once

#include "autograd/record.h"
#include "engine/ops/top_softmax/top_softmax.h"

namespace sink {

struct TopSoftmaxNode {
  Gradient x_gradient;
  Tensor p;

  static constexpr const char* name = "top_softmax";
  void backward(const Tensor& dy) {
    Tensor dx = Tensor::empty_like(p);
    top_softmax_backward(dy, p, dx);
    x_gradient.accumulate(std::move(dx));
  }
};

inline Var top_softmax(const Var& x, std::int64_t k) {
  Tensor p = Tensor::empty_like(x.value());
  top_softmax(x.value(), k, p);
  return record<TopSoftmaxNode>(p, x.gradient(), p);
}

}  // namespace sink
