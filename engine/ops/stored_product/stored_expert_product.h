// Products with the stored matrices W_e of a mixture's E experts, of which each token chooses a few:
//   stored_expert_product: y_e = W_e x for the chosen experts, those with p_e != 0; unspecified for the others;
//   stored_expert_sum:     y = sum over all e of W_e x_e, where x_e = 0 for the experts that were not chosen.
//
// Each expert multiplies only the rows that need it, and weights of an expert that no row needs are not read. On a CUDA
// device p or x is copied to the host to find these rows. The sum looks at x and not at p, since a hook may have
// changed x.
// Not for training: there is no backward.
#pragma once

#include "engine/stored/stored_matrix.h"
#include "engine/tensor.h"

namespace sink {

// x: (..., K); p: (..., E); y: (..., E N), in the type of x. W: (E N, K), the experts below each other.
void stored_expert_product(const Tensor& x, const Tensor& p, const StoredMatrix& w, Tensor& y);

// x: (..., E K); y: (..., N), in the type of x. W: (N, E K), the experts next to each other. Sums of BF16 are F32.
void stored_expert_sum(const Tensor& x, std::int64_t E, const StoredMatrix& w, Tensor& y);

}  // namespace sink
