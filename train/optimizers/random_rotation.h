// A random rotation of a parameter's gradient, fixed for a run: R(G) = Q_rows G Q_columns^T for a matrix G, Q g for a
// vector. Each Q is block-diagonal: one orthogonal b x b block repeated, where b is the largest divisor of the axis
// that is at most 256. The block is drawn from Haar's measure: it is the Q of a QR factorization, with the diagonal of
// R positive, of a matrix of normal variates (Mezzadri 2007) from the stream (seed, "rotation/<parameter>/<axis>"). So
// a rotation is a function of seed and name and is not saved. Axes of tokens and of positions are not rotated.
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

// A b x b F64 matrix with orthonormal rows and columns. Row i of normal variates is made orthogonal to the rows before
// it.
Tensor random_orthogonal(std::int64_t b, std::uint64_t seed, const std::string& stream);

}  // namespace sink
