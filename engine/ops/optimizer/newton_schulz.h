// The products of the Newton-Schulz iteration in their order, which all backends share. What is element by element is
// the backend's own.
#pragma once

#include <algorithm>

#include "engine/ops/matmul/matmul.h"
#include "engine/ops/optimizer/orthogonalize.h"

namespace sink {

// X: the matrix over its norm, and then the result. combine(a, x, b, y) makes y = a x + b y.
template <class Combine>
void newton_schulz(Tensor& X, const Combine& combine) {
  bool tall = X.dim(0) > X.dim(1);
  std::int64_t n = std::min(X.dim(0), X.dim(1));
  Tensor A = X.new_empty({n, n}, X.dtype()), B = Tensor::empty_like(A), product = Tensor::empty_like(X);
  for (int step = 0; step < NewtonSchulz::steps; ++step) {
    tall ? matmul(transposed(X), {X}, A) : matmul({X}, transposed(X), A);
    matmul({A}, {A}, B);
    combine(NewtonSchulz::b, A, NewtonSchulz::c, B);
    tall ? matmul({X}, {B}, product) : matmul({B}, {X}, product);
    combine(1, product, NewtonSchulz::a, X);
  }
}

}  // namespace sink
