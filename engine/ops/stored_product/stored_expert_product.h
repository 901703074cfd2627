// Products with the stored matrices W_e of a mixture's E experts, of which a token chooses those with p_e != 0:
//   stored_expert_product: y_e = W_e x for the chosen experts, unspecified for the others;
//   stored_expert_sum:     y = sum of W_e x_e over the chosen experts.
//
// Each expert multiplies only the rows of x that choose it, and weights of an expert that no row chooses are not read.
// On a CUDA device the choice is copied to the host first.
// Not for training: there is no backward.
#pragma once

#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"

namespace sink {

// x: (..., K); p: (..., E); y: (..., E N), in the type of x. W: (E N, K), the experts below each other.
void stored_expert_product(const Tensor& x, const Tensor& p, const StoredMatrix& w, Tensor& y);

// x: (..., E K), 0 where p is; p: (..., E); y: (..., N), in the type of x. W: (N, E K), the experts next to each other.
// Sums of BF16 are F32.
void stored_expert_sum(const Tensor& x, const Tensor& p, const StoredMatrix& w, Tensor& y);

}  // namespace sink
