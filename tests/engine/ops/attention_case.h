// One set of attention inputs and outputs with random numbers, shared by the attention tests.
#pragma once

#include <cmath>

#include "engine/ops/attention/attention.h"
#include "engine/rng.h"

namespace sink::test {

inline Tensor random_normals(const Shape& shape, const char* stream, DType dtype, double deviation = 1) {
  Rng rng(7, stream);
  Tensor x = Tensor::empty(shape, DType::F64);
  for (std::int64_t n = 0; n < x.size(); ++n)
    x.data<double>()[n] = deviation * rng.normal(static_cast<std::uint64_t>(n));
  return x.to(dtype);
}

inline double largest_magnitude(const Tensor& x) {
  double largest = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) largest = std::max(largest, std::abs(x.item(n)));
  return largest;
}

// Infinite if a number is not finite, so that a NaN cannot pass as a small difference.
inline double largest_difference(const Tensor& x, const Tensor& y) {
  double largest = 0;
  for (std::int64_t n = 0; n < x.size(); ++n) {
    double difference = std::abs(x.item(n) - y.item(n));
    if (!(difference <= largest)) largest = std::isfinite(difference) ? difference : INFINITY;
  }
  return largest;
}

struct AttentionCase {
  Tensor q, k, v, upstream, o, m, S, dq, dk, dv;
  AttentionConfig config;

  AttentionCase(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t D, DType dtype, KeyRange range = {},
                double score_deviation = 1) {
    Shape shape{B, H, T, D};
    q = random_normals(shape, "q", dtype, score_deviation);
    k = random_normals(shape, "k", dtype);
    v = random_normals(shape, "v", dtype);
    upstream = random_normals(shape, "upstream", dtype);
    config = {.scale = 1 / std::sqrt(static_cast<double>(D)), .range = range};
    make_outputs();
  }

  // The same inputs (as rounded) in another type.
  AttentionCase to(DType dtype) const {
    AttentionCase other = *this;
    for (Tensor* x : {&other.q, &other.k, &other.v, &other.upstream}) *x = x->clone().to(dtype);
    other.make_outputs();
    return other;
  }

  void make_outputs() {
    DType row_dtype = q.dtype() == DType::F64 ? DType::F64 : DType::F32;
    for (Tensor* x : {&o, &dq, &dk, &dv}) *x = Tensor::full(q.shape(), NAN, q.dtype());
    for (Tensor* x : {&m, &S}) *x = Tensor::full({q.dim(0), q.dim(1), q.dim(2)}, NAN, row_dtype);
  }

  template <class Op>
  void forward() {
    attention<Op>(q, k, v, config, o, m, S);
  }
  template <class Op>
  void backward() {
    attention_backward<Op>(upstream, q, k, v, o, m, S, config, dq, dk, dv);
  }
  template <class Op>
  AttentionStatistics statistics(std::int64_t n_columns) const {
    return attention_statistics<Op>(q, k, m, S, config, n_columns);
  }
  template <class Op>
  Tensor map(std::int64_t b, std::int64_t h) const {
    return attention_map<Op>(q, k, m, S, config, b, h);
  }
};

}  // namespace sink::test
