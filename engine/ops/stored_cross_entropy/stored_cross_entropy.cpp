#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"

#include "engine/implementation.h"
#include "engine/ops/stored_cross_entropy/stored_cross_entropy_cpu.h"
#include "engine/ops/stored_cross_entropy/stored_cross_entropy_cuda.h"
#include "engine/ops/stored_cross_entropy/stored_cross_entropy_ref.h"

namespace sink {

void stored_cross_entropy(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, Tensor& loss_N) {
  SINK_CHECK(
      x_NC.rank() == 2 && x_NC.dim(1) == w_VC.columns && w_VC.rows > 0 && targets_N.shape() == Shape{x_NC.dim(0)} &&
          loss_N.shape() == Shape{x_NC.dim(0)} && x_NC.dtype() != DType::I32 && targets_N.dtype() == DType::I32 &&
          loss_N.dtype() == accumulate_type(x_NC.dtype()),
      "stored_cross_entropy",
      "x is " + x_NC.str() + ", w is " + w_VC.str() + ", targets is " + targets_N.str() + ", loss is " + loss_N.str());
  if (x_NC.dim(0) == 0) return;
  SINK_SELECT(x_NC, stored_cross_entropy)(x_NC, w_VC, targets_N, loss_N);
}

}  // namespace sink
