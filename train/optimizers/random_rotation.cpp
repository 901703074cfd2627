#include "train/optimizers/random_rotation.h"

#include <cmath>

#include "engine/ops/matmul/matmul.h"
#include "engine/rng.h"

namespace sink {
namespace {

constexpr std::int64_t kLargestBlock = 256;

std::int64_t block_of(std::int64_t size) {
  for (std::int64_t b = std::min(size, kLargestBlock); b > 1; --b)
    if (size % b == 0) return b;
  return 1;
}

}  // namespace

Tensor random_orthogonal(std::int64_t b, std::uint64_t seed, const std::string& stream) {
  Rng rng(seed, stream);
  Tensor q = Tensor::table<double>(
      b, b, [&](std::int64_t i, std::int64_t j) { return rng.normal(static_cast<std::uint64_t>(i * b + j)); });
  double* q_bb = q.data<double>();
  auto dot = [&](const double* x, const double* y) {
    double sum = 0;
    for (std::int64_t j = 0; j < b; ++j) sum += x[j] * y[j];
    return sum;
  };
  for (std::int64_t i = 0; i < b; ++i) {
    double* row = q_bb + i * b;
    for (int again = 0; again < 2; ++again)  // Gram and Schmidt: what rounding leaves after once is gone after twice
      for (std::int64_t before = 0; before < i; ++before) {
        const double* other = q_bb + before * b;
        double share = dot(row, other);
        for (std::int64_t j = 0; j < b; ++j) row[j] -= share * other[j];
      }
    double norm = std::sqrt(dot(row, row));
    for (std::int64_t j = 0; j < b; ++j) row[j] /= norm;
  }
  return q;
}

RandomRotation::RandomRotation(const Parameter& parameter, std::uint64_t seed, DType dtype, Device device) {
  const ParameterInfo& info = parameter.info();
  auto block = [&](std::int64_t size, const char* axis) {
    std::int64_t b = block_of(size);
    if (b == 1) return Tensor();
    return random_orthogonal(b, seed, "rotation/" + info.name + "/" + axis).to(dtype).to(device);
  };
  bool of_tokens = info.role == ParameterRole::embedding || info.axes.starts_with("V ");
  if (info.shape.rank() == 2 && !of_tokens) rows_ = block(info.shape[0], "rows");
  columns_ = block(info.shape[info.shape.rank() - 1], "columns");
}

Tensor RandomRotation::rotated(const Tensor& x, bool back) const {
  Tensor y = x;
  if (columns_.defined()) {  // y = x Q^T, or x Q, b columns at a time
    std::int64_t b = columns_.dim(0);
    Tensor product = x.new_empty({x.size() / b, b}, x.dtype());
    matmul({x.reshape(product.shape())}, {columns_, !back}, product);
    y = product.reshape(x.shape());
  }
  if (rows_.defined()) {  // Q y, or Q^T y, b rows at a time
    std::int64_t b = rows_.dim(0);
    Tensor product = Tensor::empty_like(x);
    for (std::int64_t row = 0; row < x.dim(0); row += b) {
      Tensor part = product.rows(row, row + b);
      matmul({rows_, back}, {y.rows(row, row + b)}, part);
    }
    y = product;
  }
  return y;
}

}  // namespace sink
