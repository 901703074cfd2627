// Reference: in double, in plain loops.
#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"

#include <cmath>
#include <limits>

#include "engine/implementation.h"
#include "engine/ops/activation/activation_math.h"

namespace sink::ref {
namespace {

// What a row knows after some of its logits.
struct LogitsSoFar {
  double m = -std::numeric_limits<double>::infinity();  // the largest
  double S = 0;                                         // sum of exp(logit - m)
  double of_target = 0;

  void add(double logit) {
    const double larger = logit > m ? logit : m;
    S = S * std::exp(m - larger) + std::exp(logit - larger);
    m = larger;
  }
};

}  // namespace

void stored_cross_entropy(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, double cap,
                          Tensor& loss_N) {
  const std::int64_t N = x_NC.dim(0), C = w_VC.columns;
  const auto* targets = targets_N.data<std::int32_t>();
  std::vector<LogitsSoFar> rows(static_cast<std::size_t>(N));
  for (std::int64_t v = 0; v < w_VC.rows; ++v) {
    const std::vector<double> w_C = row_of(w_VC, v);
    for (std::int64_t n = 0; n < N; ++n) {
      double logit = 0;
      for (std::int64_t c = 0; c < C; ++c) logit += x_NC.data<double>()[n * C + c] * w_C[static_cast<std::size_t>(c)];
      if (cap > 0) logit = SoftCap{cap}.f(logit);
      LogitsSoFar& row = rows[static_cast<std::size_t>(n)];
      row.add(logit);
      if (targets[n] == v) row.of_target = logit;
    }
  }
  for (std::int64_t n = 0; n < N; ++n) {
    const LogitsSoFar& row = rows[static_cast<std::size_t>(n)];
    loss_N.data<double>()[n] = targets[n] < 0 ? 0 : row.m + std::log(row.S) - row.of_target;
  }
}

}  // namespace sink::ref

// The operation itself: it checks its arguments and selects a backend.
namespace sink {

void stored_cross_entropy(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, double cap,
                          Tensor& loss_N) {
  SINK_CHECK(
      x_NC.rank() == 2 && x_NC.dim(1) == w_VC.columns && w_VC.rows > 0 && targets_N.shape() == Shape{x_NC.dim(0)} &&
          loss_N.shape() == Shape{x_NC.dim(0)} && x_NC.dtype() != DType::I32 && targets_N.dtype() == DType::I32 &&
          loss_N.dtype() == accumulate_type(x_NC.dtype()),
      "stored_cross_entropy",
      "x is " + x_NC.str() + ", w is " + w_VC.str() + ", targets is " + targets_N.str() + ", loss is " + loss_N.str());
  if (x_NC.dim(0) == 0) return;
  SINK_SELECT(x_NC, stored_cross_entropy)(x_NC, w_VC, targets_N, cap, loss_N);
}

}  // namespace sink
