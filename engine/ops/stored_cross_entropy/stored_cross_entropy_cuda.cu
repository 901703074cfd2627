// CUDA backend, with weights that stay on the host.
#include "engine/ops/stored_cross_entropy/stored_cross_entropy.h"

#include <algorithm>

#include "engine/ops/activation/activation.h"
#include "engine/ops/cross_entropy/cross_entropy.h"
#include "engine/ops/stored_product/stored_product.h"

namespace sink::cuda {

// Logits of some rows at a time: weights travel for each of them again.
void stored_cross_entropy(const Tensor& x_NC, const StoredMatrix& w_VC, const Tensor& targets_N, double cap,
                          Tensor& loss_N) {
  constexpr std::int64_t kMostLogits = std::int64_t{1} << 27;
  const std::int64_t N = x_NC.dim(0), most = std::max<std::int64_t>(1, kMostLogits / w_VC.rows);
  for (std::int64_t first = 0; first < N; first += most) {
    const std::int64_t last = std::min(N, first + most);
    Tensor logits = x_NC.new_empty({last - first, w_VC.rows}, DType::F32), loss = loss_N.rows(first, last);
    sink::stored_product(x_NC.rows(first, last), w_VC, logits);
    if (cap > 0) sink::activation(logits, logits, SoftCap{cap});
    sink::cross_entropy(logits, targets_N.rows(first, last), loss);
  }
}

}  // namespace sink::cuda
