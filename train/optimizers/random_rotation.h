// A random rotation of a parameter's step_scalars, fixed for a run: R(G) = Q_rows G Q_columns^T for a matrix G, Q g for
// a vector. Each Q is block-diagonal with one orthogonal block of b x b numbers repeated, b the largest divisor of the
// axis that is at most 256, drawn from Haar's measure (the Q of a QR factorisation, R's diagonal positive, of normal
// numbers; Mezzadri 2007) out of the stream (seed, "rotation/<parameter>/<axis>"). So a rotation is a function of seed
// and name, and nothing of it has to be saved. Axes of tokens and of positions are not rotated.
#pragma once

#include "autograd/parameter.h"
#include "engine/tensor.h"

namespace sink {

class RandomRotation {
 public:
  RandomRotation(const Parameter& parameter, std::uint64_t seed, DType dtype, Device device);

  // R(x), of the parameter's shape; the inverse, which is the transpose, of what rotate() gave.
  Tensor rotate(const Tensor& x) const { return rotated(x, /*back=*/false); }
  Tensor rotate_back(const Tensor& x) const { return rotated(x, /*back=*/true); }

 private:
  Tensor rotated(const Tensor& x, bool back) const;

  Tensor rows_, columns_;  // the blocks; undefined where an axis is not rotated
};

// b x b step_scalars, F64; rows and columns are orthonormal. Row i of the normal numbers is made orthogonal to those
// before it.
Tensor random_orthogonal(std::int64_t b, std::uint64_t seed, const std::string& stream);

}  // namespace sink
