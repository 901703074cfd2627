// A matrix near to the orthogonal one that is nearest to x = U S V^T, which is U V^T, by five steps of a Newton-Schulz
// iteration (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"):
//   X = x / (|x| + 1e-7), |x| the Frobenius norm
//   five times: X = a X + (b A + c A^2) X, A = X X^T      (tall matrices: X (b A + c A^2), A = X^T X)
//   (a, b, c) = (3.4445, -4.7750, 2.0315)
// Each step applies a s + b s^3 + c s^5 to every singular value s. The coefficients make small ones grow fastest and do
// not converge: singular values end between about 0.7 and 1.2, those below 1e-3 of |x| lower.
// In F32 also where the model computes in BF16 (Muon's authors take bf16); in F64 for f64.
#pragma once

#include "engine/ops/backends.h"
#include "engine/tensor.h"

namespace sink {

struct NewtonSchulz {
  static constexpr int steps = 5;
  static constexpr double a = 3.4445, b = -4.7750, c = 2.0315, epsilon = 1e-7;
};

// x, y: one shape, a matrix, F32 or F64.
void orthogonalize(const Tensor& x_MN, Tensor& y_MN);

SINK_BACKENDS(orthogonalize)

}  // namespace sink
