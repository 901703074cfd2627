// p of the k largest elements of every row, 0 of the others: their softmax, or their part of the softmax of the row.
#pragma once

#include "autograd/record.h"
#include "engine/ops/top_softmax/top_softmax.h"

namespace sink {

struct TopSoftmaxNode {
  Gradient x_gradient;
  Tensor p, s;  // s: what was normalized, p or the softmax of the row

  static constexpr const char* name = "top_softmax";
  void backward(const Tensor& dy) {
    Tensor dx = Tensor::empty_like(p);
    top_softmax_backward(dy, p, s, dx);
    x_gradient.accumulate(std::move(dx));
  }
};

// The softmax of the k largest.
inline Var top_softmax(const Var& x, std::int64_t k) {
  Tensor p = Tensor::empty_like(x.value());
  top_softmax(x.value(), k, p);
  return record<TopSoftmaxNode>(p, x.gradient(), p, p);
}

// The k largest of the softmax of the row.
inline Var top_of_softmax(const Var& x, std::int64_t k) {
  Tensor s = Tensor::empty_like(x.value()), p = Tensor::empty_like(x.value());
  top_softmax(x.value(), x.value().dim(-1), s);
  keep_largest(s, k, p);
  return record<TopSoftmaxNode>(p, x.gradient(), p, s);
}

}  // namespace sink
